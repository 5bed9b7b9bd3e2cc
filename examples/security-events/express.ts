import express from "express";
import { protect } from "scopegate/express";
import { receive, server } from "./events.js";

const app = express().use(protect(server));
app.post("/events", express.text({ type: "application/secevent+jwt", limit: "64kb" }), async (req, res) => {
  const { status, headers, body } = await receive(req.body);
  res.status(status).set(headers).send(body);
});
app.listen(3000);
