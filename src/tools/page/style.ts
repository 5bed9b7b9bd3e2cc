/** The style of the page: light and dark, wide and narrow, and on paper. */
export const STYLE = `
:root { color-scheme: light dark; --ink: light-dark(#1c2026, #e8ebf0); --soft: light-dark(#545d69, #a3acb9);
  --page: light-dark(#f3f4f9, #0e1116); --card: light-dark(#fff, #171b22); --line: light-dark(#d8dce4, #323945);
  --accent: light-dark(#3a4bd0, #a3b0ff); --good: light-dark(#14652b, #56d364); --bad: light-dark(#b3202b, #ff8a84);
  --warn: light-dark(#7d4e00, #e3b341); --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
* { box-sizing: border-box } [hidden] { display: none !important }
body { margin: 0 auto; max-width: 86rem; padding: 1rem 1.25rem 3rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: anywhere }
h1 { font-size: 1.8rem; letter-spacing: -.02em; margin: .6rem 0 0 } h2 { font-size: 1.15rem; margin: 0 0 .5rem }
p { margin: .25rem 0 } ul { margin: .3rem 0; padding-left: 1.1rem } i { position: absolute; clip-path: inset(50%) }
header p, #notes, #hint, #count, small { color: var(--soft) } #hint, #count, label, small { font-size: .87em }
code, pre, textarea, input { font: .87em/1.5 var(--mono) } label, #read, #response { font-weight: 600 }
main { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; margin-top: 1rem }
section { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1.1rem 1.25rem; min-width: 0 }
#findings li { margin: .5rem 0 } #audit, #rules { grid-column: 1 / -1 } section > div:not([role=region]) { display: flex; flex-wrap: wrap; gap: 0 1rem }
section > div > p { flex: 1 1 9rem } section > div > p + p { flex-grow: 2 } [role=search] > p + p { flex-grow: 0 !important }
input, select, textarea { width: 100%; padding: .45rem .6rem; border: 1px solid light-dark(#868e9b, #6c7686);
  border-radius: 7px; background: var(--page); color: inherit; font-size: .95rem } textarea { resize: vertical }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px } summary { color: var(--accent); cursor: pointer }
pre { white-space: pre-wrap; margin: .3rem 0; padding: .7rem; background: var(--page); border-radius: 7px }
#steps { list-style: none; padding: 0; margin: .8rem 0 } #steps li { position: relative; padding: 0 0 .6rem 2.3rem }
#steps b, #steps code, button code, small, td code { display: block } #steps code { color: var(--soft) }
#steps li::before { content: "✓"; position: absolute; left: 0; width: 1.5rem; height: 1.5rem; border-radius: 50%;
  display: grid; place-items: center; font-weight: 700; border: 1.5px solid; background: var(--card) }
#steps li:not(:last-child)::after { content: ""; position: absolute; left: .7rem; top: 1.6rem; bottom: 0;
  border-left: 2px solid var(--line) } #steps .failed::before { content: "✗" } #steps .skipped::before { content: "" }
.passed::before, .yes { color: var(--good) } .failed::before, .no, .error { color: var(--bad) }
.some, .warning, .override { color: var(--warn) } .custom { color: var(--accent) } .default, .note { color: var(--soft) }
[role=region] { overflow-x: auto } table, thead, tbody { display: block } th, td { text-align: left; font-weight: 400 }
tr { display: grid; grid-template-columns: minmax(13rem, 5fr) minmax(9rem, 4fr) 5rem minmax(9rem, 4fr); gap: 1rem;
  grid-auto-flow: column; grid-auto-columns: minmax(6rem, 1.4fr); padding: .5rem .3rem; border-top: 1px solid var(--line) }
tbody tr { content-visibility: auto; contain-intrinsic-size: auto 3.6rem } tbody tr:hover { background: var(--page) }
thead tr { border: 0; font-size: .85em; color: var(--soft) } th p { font-size: .85em }
button { font: inherit; color: inherit; text-align: left; background: none; border: 0; padding: 0; cursor: pointer }
button b { font: 700 .72rem/1.6 var(--mono); color: var(--accent) } button code { font-weight: 600 }
button:hover code { text-decoration: underline } td:nth-child(n + 5) small { display: none }
.skip:not(:focus) { position: absolute; clip-path: inset(50%) }
@media (max-width: 56rem) { main { display: block } section { margin-bottom: .8rem; padding: .9rem } body { padding: .4rem .7rem }
  thead { position: absolute; clip-path: inset(50%) } td i { position: static; clip-path: none; font-style: normal; color: var(--soft) }
  tr { grid: auto / 1fr; gap: .2rem } }
@media print { :root { color-scheme: light } body { background: none } section { border: 0; padding: 0 } main { display: block }
  .skip, [role=search], details:not([open]) { display: none } tr { break-inside: avoid; content-visibility: visible } }
`;
