"""The style block of a report page: light and dark, screen and paper."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --ink: #1d1d1f; --soft: #5c5c66; --rule: #c9c9d0; --ground: #fff; --band: #f4f4f7; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8ea; --soft: #a5a5b0; --rule: #45454f; --ground: #17171a; --band: #212127; }
}
body { margin: 2rem auto; padding: 0 1rem; max-width: 68rem; color: var(--ink); background: var(--ground);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; break-after: avoid; }
a { color: inherit; }
nav ul { padding-left: 1.2rem; }
.frame { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; border-block: 2px solid var(--ink); }
caption { text-align: left; font-weight: 600; padding-bottom: .4rem; }
caption small { font-weight: 400; color: var(--soft); }
th, td { padding: .25rem .9rem; text-align: right; vertical-align: top; font-weight: 400; }
tr > :first-child { text-align: left; padding-left: .3rem; }
thead th { font-weight: 600; border-bottom: 1px solid var(--ink); }
thead th[scope=colgroup] { text-align: center; border-bottom: 1px solid var(--rule); }
tbody + tbody { border-top: 1px solid var(--ink); }
tbody th[scope=rowgroup] { text-align: left; font-style: italic; color: var(--soft); }
tbody tr:hover { background: var(--band); }
td { white-space: nowrap; }
td small { display: block; color: var(--soft); font-size: .8em; line-height: 1.3; }
td strong { font-weight: 700; }
sup { font-size: .7em; line-height: 0; }
td sup { display: inline-block; width: 0; }
.legend, dl { font-size: .85rem; color: var(--soft); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem .8rem; margin: .5rem 0; }
dt { color: var(--ink); }
dd { margin: 0; overflow-wrap: anywhere; }
dd ul { margin: 0; padding-left: 1.1rem; }
dd b { font-weight: 600; }
details { margin: .5rem 0; }
summary { cursor: pointer; font-size: .9rem; }
pre { font-size: .75rem; white-space: pre-wrap; overflow-wrap: anywhere; background: var(--band); padding: .6rem; }
figure { margin: 1rem 0; break-inside: avoid; }
figure svg { max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
figcaption { font-size: .85rem; color: var(--soft); }
@media print {
  body { margin: 0; max-width: none; font-size: 10pt; }
  section { break-inside: auto; }
  tr { break-inside: avoid; }
  nav { display: none; }
  details::details-content { content-visibility: visible; block-size: auto; }
  .frame { overflow: visible; }
  a { text-decoration: none; }
}
"""
