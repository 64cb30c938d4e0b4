// Keeps the page up to date. The server sends parts of the page as it would make them anew; here they are
// worked into what is shown, node by node, so that focus, open details and half-typed text stay.

const parts = document.querySelector('[data-live]')
const connection = document.getElementById('connection')
const announce = document.getElementById('announce')
/** What was sent and refused is shown again as it was sent: it is for whoever sent it to mend. */
const isRefused = document.querySelector('.problem[role=alert]') !== null
const calmMs = 3_000
const retryMs = 4_000

let stream
let spokenAt = 0

const say = (state, text) => {
  connection.dataset.state = state
  if (connection.textContent !== text) connection.textContent = text
}

const keyOf = (node) =>
  node.nodeType === Node.ELEMENT_NODE ? node.dataset.key || node.id || undefined : undefined

const sameKind = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && keyOf(a) === keyOf(b)

const morphAttributes = (from, to) => {
  for (const { name } of [...from.attributes])
    if (!to.hasAttribute(name) && !(name === 'open' && from.nodeName === 'DETAILS'))
      from.removeAttribute(name)
  for (const { name, value } of [...to.attributes])
    if (from.getAttribute(name) !== value) from.setAttribute(name, value)
}

/** Makes `from` look like `to`. Children with a key are found wherever they stand; others go by their place. */
const morph = (from, to) => {
  if (from.nodeType !== Node.ELEMENT_NODE) {
    if (from.nodeValue !== to.nodeValue) from.nodeValue = to.nodeValue
    return
  }
  // What somebody types into is theirs until they send it.
  if (from === document.activeElement && from.matches('input, textarea, select')) return
  if (isRefused && from.nodeName === 'FORM') return
  if (from.isEqualNode(to)) return
  morphAttributes(from, to)
  const keyed = new Map()
  for (const child of from.childNodes) if (keyOf(child) !== undefined) keyed.set(keyOf(child), child)
  let at = from.firstChild
  for (const wanted of [...to.childNodes]) {
    const known = keyed.get(keyOf(wanted))
    if (known && sameKind(known, wanted)) {
      if (known === at) at = at.nextSibling
      else from.insertBefore(known, at)
      morph(known, wanted)
    } else if (at && sameKind(at, wanted)) {
      const next = at.nextSibling
      morph(at, wanted)
      at = next
    } else from.insertBefore(wanted, at)
  }
  while (at) {
    const next = at.nextSibling
    at.remove()
    at = next
  }
}

const showPart = ({ id, html }) => {
  const shown = document.getElementById(id)
  const template = document.createElement('template')
  template.innerHTML = html
  const wanted = template.content.firstElementChild
  if (!shown || !wanted) return
  const focused = document.activeElement
  morph(shown, wanted)
  // A node that was moved has lost its focus on the way.
  if (focused !== document.activeElement && focused.isConnected && shown.contains(focused))
    focused.focus({ preventScroll: true })
}

const speak = ({ text }) => {
  const now = performance.now()
  if (announce.textContent === text || now - spokenAt < calmMs) return
  spokenAt = now
  announce.textContent = text
}

const connect = () => {
  stream?.close()
  stream = new EventSource(parts.dataset.live || location.pathname + location.search)
  stream.addEventListener('open', () => say('live', 'Live'))
  stream.addEventListener('part', (event) => {
    say('live', 'Live')
    showPart(JSON.parse(event.data))
  })
  stream.addEventListener('announce', (event) => speak(JSON.parse(event.data)))
  stream.addEventListener('trouble', (event) => say('old', JSON.parse(event.data).text))
  stream.addEventListener('error', () => {
    say('old', 'Not live: connecting again')
    // The browser tries again by itself, unless it was refused.
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => !document.hidden && connect(), retryMs)
  })
}

const disconnect = () => {
  stream?.close()
  stream = undefined
}

if (parts) {
  // A browser has six connections to a host: a tab that nobody sees must not hold one.
  document.addEventListener('visibilitychange', () => (document.hidden ? disconnect() : connect()))
  addEventListener('pagehide', disconnect)
  addEventListener('pageshow', (event) => event.persisted && connect())
  if (!document.hidden) connect()
}
