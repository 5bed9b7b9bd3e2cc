/** The HTML of every page, which the script fills. */
export const MARKUP = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{CSP}">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>Policy</title><style>{STYLE}</style></head>
<body><a class="skip" href="#rules">Skip to the rules</a>
<header><h1></h1><p id="summary"></p><ul id="notes"></ul></header><main>
<section aria-labelledby="who"><h2 id="who">Who may?</h2>
<label for="caller">Scopes, the claims of a token as JSON, or a token</label>
<textarea id="caller" rows="3" spellcheck="false" autocomplete="off" aria-describedby="hint"></textarea>
<p id="hint">Empty: no token. What you enter stays in this browser. Signatures and expiry aren't checked.</p>
<div><p><label for="add">Add a scope or a role</label><select id="add"></select></p>
<p><label for="claim">Claim with the scopes</label><input id="claim" value="scopes" spellcheck="false"></p>
<p><label for="tenant">Tenant of the issuer</label><input id="tenant" spellcheck="false" autocomplete="off"></p></div>
<p id="read" role="status"></p></section>
<section aria-labelledby="why"><h2 id="why">Why not?</h2>
<div><p><label for="method">Method</label><input id="method" value="GET" spellcheck="false"></p>
<p><label for="path">Path</label><input id="path" value="/" spellcheck="false"></p></div>
<ol id="steps"></ol><p id="response" role="status"></p>
<details><summary>As text</summary><pre id="text"></pre></details></section>
<section id="rules" aria-labelledby="table" tabindex="-1"><h2 id="table">Rules</h2>
<div role="search"><p><label for="filter">Search</label><input id="filter" type="search" spellcheck="false"></p>
<p><label for="show">Show</label><select id="show"><option value="">all</option><option value="yes some">allowed</option>
<option value="no">refused</option><option value="warned">with findings</option></select></p></div>
<p id="count" role="status"></p><div role="region" aria-labelledby="table" tabindex="0">
<table><thead><tr id="head"></tr></thead><tbody id="body"></tbody></table></div></section>
<section id="audit" aria-labelledby="audited"><h2 id="audited">Audit</h2><p id="result"></p><ul id="findings"></ul></section>
</main><script type="application/json" id="data">{DATA}</script><script>{SCRIPT}</script></body></html>
`;
