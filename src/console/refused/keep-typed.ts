import { html } from 'hono/html'

type Values = Readonly<Record<string, string>>

const attribute = (tag: string, name: string): string | undefined =>
  new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]

const written = (text: string): string => String(html`${text}`)

const forms = /<form\b[^>]*>[\s\S]*?<\/form>/g
const inputs = /<input\b[^>]*>/g
const selects = /(<select\b[^>]*>)([\s\S]*?)(<\/select>)/g
const texts = /(<textarea\b[^>]*>)[\s\S]*?(<\/textarea>)/g
/** What says which form it is, and what a person has to say anew each time. */
const fixed = new Set(['hidden', 'checkbox', 'radio', 'password', 'file', 'submit'])

/**
 * A page of ours with what was typed into one of its forms: the form by its address and by what it sends unseen. Ticks
 * are not set: they say that a person means it, and the page may look otherwise by now.
 */
export const keepTyped = (page: string, action: string, values: Values): string =>
  page.replace(forms, (form) => {
    const open = form.slice(0, form.indexOf('>') + 1)
    const to = attribute(open, 'action')
    if (to !== written(action) && to !== written(action.split('?')[0] ?? '')) return form
    return sendsUnseen(form, values) ? filled(form, values) : form
  })

/** What the page says of what it looked at, and not of which form it is. */
const looks = new Set(['back', 'version', 'count', 'finished'])

const sendsUnseen = (form: string, values: Values): boolean =>
  (form.match(inputs) ?? [])
    .filter((tag) => attribute(tag, 'type') === 'hidden' && !looks.has(attribute(tag, 'name') ?? ''))
    .every((tag) => attribute(tag, 'value') === written(values[attribute(tag, 'name') ?? ''] ?? ''))

const typedIn = (tag: string, values: Values): string | undefined => {
  const name = attribute(tag, 'name') ?? ''
  return Object.hasOwn(values, name) ? values[name] : undefined
}

const filled = (form: string, values: Values): string =>
  form
    .replace(inputs, (tag) => {
      const typed = typedIn(tag, values)
      if (typed === undefined || fixed.has(attribute(tag, 'type') ?? 'text')) return tag
      return `${tag.replace(/\svalue="[^"]*"/, '').slice(0, -1)} value="${written(typed)}">`
    })
    .replace(selects, (whole, open: string, options: string, close: string) => {
      const typed = typedIn(open, values)
      const chosen = `value="${written(typed ?? '')}"`
      if (typed === undefined || !options.includes(chosen)) return whole
      const none = options.replaceAll(/(<option\b[^>]*?)\sselected(?=[\s>])/g, '$1')
      return `${open}${none.replace(chosen, () => `${chosen} selected`)}${close}`
    })
    .replace(texts, (whole, open: string, close: string) => {
      const typed = typedIn(open, values)
      return typed === undefined ? whole : `${open}${written(typed)}${close}`
    })
