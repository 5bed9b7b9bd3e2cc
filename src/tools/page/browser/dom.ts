/** Finds and creates elements. Data only becomes text content and attribute values. */
import { escapeHidden } from "../../escape.ts";

export const find = (id: string) => document.getElementById(id) as HTMLInputElement;

export function make(tag: string, name: string, ...children: readonly (Node | string)[]): HTMLElement {
  const element = document.createElement(tag);
  if (name !== "") element.className = name;
  element.append(...children.map((child) => (typeof child === "string" ? escapeHidden(child) : child)));
  return element;
}
