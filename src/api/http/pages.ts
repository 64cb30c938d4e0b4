import { printableHtml } from '../../print/printable.mjs'

/** Text as HTML. */
export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

interface Page {
  readonly title: string
  /** HTML. */
  readonly body: string
  /** Files under /assets to run. */
  readonly scripts?: readonly string[]
}

/** A whole page of ours: no inline script or style, nothing from elsewhere. */
export const page = ({ title, body, scripts = [] }: Page): string =>
  printableHtml(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Drover</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/api.css">
${scripts.map((name) => `<script src="/assets/${name}" defer></script>`).join('\n')}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header><a class="brand" href="/">Drover</a></header>
<main id="main">
<h1>${escapeHtml(title)}</h1>
${body}
</main>
</body>
</html>
`)

/** Three carts in a row, the first one ahead. Every page names it, or browsers would ask for one of their own. */
export const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="7" fill="#0b5f63"/><path d="M6 9h12M6 16h20M6 23h12" stroke="#fff" stroke-width="3.5"
 stroke-linecap="round"/></svg>
`

/** The looks of login and docs: system fonts, enough contrast in both schemes, visible focus. */
export const stylesheet = `:root { color-scheme: light dark; --fg: #1b1f24; --bg: #fff; --dim: #57606a; --line: #d0d7de;
  --card: #f6f8fa; --link: #0550ae; --bad: #a40e26 }
@media (prefers-color-scheme: dark) { :root { --fg: #e6edf3; --bg: #0d1117; --dim: #9198a1; --line: #30363d;
  --card: #161b22; --link: #79c0ff; --bad: #ff7b72 } }
* { box-sizing: border-box }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: var(--fg); background: var(--bg) }
header { padding: .75rem 1.25rem; border-bottom: 1px solid var(--line) }
.brand { font-weight: 700; color: inherit; text-decoration: none }
main { max-width: 62rem; margin: 0 auto; padding: 1rem 1.25rem 4rem }
a { color: var(--link) }
a:focus-visible, input:focus-visible, button:focus-visible, summary:focus-visible { outline: 3px solid var(--link); outline-offset: 2px }
.skip { position: absolute; left: -999rem }
.skip:focus { left: .5rem; top: .5rem; background: var(--bg); padding: .5rem }
code, pre { font: .875rem/1.45 ui-monospace, monospace }
pre { background: var(--card); border: 1px solid var(--line); padding: .75rem; overflow: auto; max-height: 32rem }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1rem }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid var(--line) }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line) }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .5rem 0; padding: .5rem .75rem }
summary { cursor: pointer }
.method { display: inline-block; min-width: 4.5rem; font-weight: 700 }
.role, .dim { color: var(--dim) }
.error { color: var(--bad); font-weight: 600 }
label { display: block; font-weight: 600; margin: 1rem 0 .25rem }
input { width: 100%; max-width: 32rem; padding: .5rem; font: inherit; color: inherit; background: var(--bg); border: 1px solid var(--dim); border-radius: .3rem }
button { margin-top: 1rem; padding: .5rem 1.25rem; font: inherit; font-weight: 600 }
[hidden] { display: none }
`

/** Hides operations that do not hold the words typed. Without scripts the page shows them all. */
export const docsScript = `const box = document.getElementById('filter')
const operations = [...document.querySelectorAll('[data-words]')]
box.closest('form').hidden = false
box.addEventListener('input', () => {
  const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean)
  let shown = 0
  for (const operation of operations) {
    operation.hidden = !words.every((word) => operation.dataset.words.includes(word))
    if (!operation.hidden) shown += 1
  }
  document.getElementById('shown').textContent = shown + ' of ' + operations.length + ' operations'
})
`
