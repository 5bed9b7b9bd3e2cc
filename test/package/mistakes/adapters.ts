/** Guards of another framework or without a server must not compile. */
import express from "express";
import { fastify } from "fastify";
import Koa from "koa";
import { createResourceServer } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forKoa from "scopegate/koa";

const server = createResourceServer({});
express().use(forExpress.protect); // TS2769
express().use(forKoa.protect(server)); // TS2769
new Koa().use(forExpress.protect(server)); // TS2345
forKoa.protect(server, { sensitive: true }); // TS2322
void fastify().register(forExpress.protect(server)); // TS2769
forFastify.requireScopes(["agents:read"]); // TS2345
forExpress.protect(); // TS2554
