/**
 * Runs inside the interpreter before the script, in the interpreter's own JavaScript. It gives the script its calls
 * and data, and removes what would make two runs differ. It keeps its own references, so that a script that changes
 * `JSON` or a prototype affects only itself.
 */
export const prelude = `(host, longest, names, batchText) => {
  'use strict'
  const { parse, stringify } = JSON
  const { freeze, values, defineProperty } = Object
  const Refusal = TypeError
  const Missing = Error
  const asText = String
  const slice = Function.prototype.call.bind(String.prototype.slice)
  const short = (value) => {
    if (value === null) return undefined
    return typeof value === 'string' && value.length > longest ? slice(value, 0, longest) : value
  }
  const settle = (value) => {
    if (typeof value === 'object' && value !== null) {
      values(value).forEach(settle)
      freeze(value)
    }
    return value
  }
  const describe = (value) => {
    if (typeof value === 'function') return '[function]'
    if (typeof value !== 'object' || value === null) return asText(value)
    try {
      return asText(stringify(value))
    } catch {
      return '[object]'
    }
  }
  const line = (given) => {
    let text = ''
    for (let at = 0; at < given.length && text.length < longest; at += 1)
      text += (at === 0 ? '' : ' ') + short(describe(given[at]))
    return short(text)
  }
  const give = (name, value) =>
    defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false })
  for (const [name, means] of values(parse(names)))
    give(name, (...given) => {
      const problem =
        means === 'log'
          ? host(name, line(given))
          : host(name, short(given[0]), short(given[1]), short(given[2]), short(given[3]))
      if (problem !== undefined) throw new Refusal(problem)
    })
  Math.random = () => {
    throw new Missing('Math.random is not there: a placement must come out the same every time.')
  }
  delete globalThis.queueMicrotask
  const batch = settle(parse(batchText))
  return (placement) => (instanceText) => placement(settle(parse(instanceText)), batch)
}`
