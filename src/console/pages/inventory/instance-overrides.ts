import { html } from 'hono/html'
import { distributions, osTypes } from '../../../domain/inventory/os.ts'
import type { InstanceOverrides } from '../../../domain/inventory/overrides.ts'
import { emptyForm, type FormState, inputField, problemBox, selectField, textField } from '../../kit/form.ts'
import type { Page, PageContext } from '../../kit/page.ts'
import { visible } from '../../kit/shown.ts'
import type { Html } from '../../kit/view.ts'
import { readInstance } from './instance.ts'

const asSource = ['', 'as its source says'] as const
const flags = ['disable_migration', 'ignore_restrictions', 'started_after', 'stopped_after'] as const
const flagTexts: Readonly<Record<(typeof flags)[number], string>> = {
  disable_migration: 'Never migrate it',
  ignore_restrictions: 'Ignore what the rules have against it',
  started_after: 'Start it after its migration, whatever it was',
  stopped_after: 'Leave it off after its migration, whatever it was',
}
const texts = ['name', 'architecture', 'os_type', 'distribution', 'distribution_version', 'comment'] as const

/** The form for what people decide about a machine; with what was wrong when it was sent before. */
export const overridesPage =
  (state: FormState = emptyForm) =>
  async (context: PageContext): Promise<Page> => {
    const instance = await readInstance(context)
    const given = instance.overrides as InstanceOverrides
    const base = `/instances/${instance.id}`
    return {
      title: `Decide about ${visible(instance.name)}`,
      intro: html`${problemBox(state)}<p>An empty field leaves the word of its source.</p>
<form class="form" method="post" action="${base}/overrides">
<input type="hidden" name="version" value="${state.values.version ?? instance.overrides_version}">
<input type="hidden" name="attributes" value="${state.values.attributes ?? JSON.stringify(given.attributes ?? {})}">
${mainFields(state, given)}
<fieldset><legend>How it is migrated</legend>${flags.map((flag) => flagField(state, flag, given[flag] === true))}</fieldset>
${textField(state, { name: 'comment', label: 'Comment', value: given.comment ?? '' })}
<div class="buttons"><button type="submit">Save</button> <a href="${base}">Leave it</a></div></form>`,
      parts: [],
    }
  }

const mainFields = (state: FormState, given: InstanceOverrides): Html => html`
${inputField(state, { name: 'name', label: 'Name', value: given.name ?? '', maxlength: 63, hint: 'Letters, digits and inner dashes: a host name.' })}
${inputField(state, { name: 'cpus', label: 'CPUs', type: 'number', value: numberText(given.cpus) })}
${inputField(state, { name: 'memory', label: 'Memory in bytes', type: 'number', value: numberText(given.memory) })}
${selectField(state, { name: 'architecture', label: 'Architecture', value: given.architecture ?? '', choices: choicesOf(['x86_64', 'i686', 'aarch64']) })}
${selectField(state, { name: 'os_type', label: 'Kind of system', value: given.os_type ?? '', choices: choicesOf(osTypes) })}
${selectField(state, { name: 'distribution', label: 'Distribution', value: given.distribution ?? '', choices: choicesOf(distributions) })}
${inputField(state, { name: 'distribution_version', label: 'Version of it', value: given.distribution_version ?? '', maxlength: 40 })}`

const numberText = (value: number | undefined): string => (value === undefined ? '' : String(value))

const choicesOf = (values: readonly string[]) => [asSource, ...values.map((value) => [value, value] as const)]

const flagField = (state: FormState, flag: (typeof flags)[number], set: boolean): Html => {
  const on = state.problem === undefined ? set : state.values[flag] === 'yes'
  const errors = state.errors.filter(({ field }) => field === flag)
  return html`<p class="check"><input type="checkbox" id="in-${flag}" name="${flag}" value="yes"${on ? html` checked` : ''}${
    errors.length > 0 ? html` aria-invalid="true" aria-describedby="in-${flag}-error"` : ''
  }>
<label for="in-${flag}">${flagTexts[flag]}</label></p>${
    errors.length === 0
      ? ''
      : html`<p class="field-error" id="in-${flag}-error">${errors.map(({ message }) => message).join(' ')}</p>`
  }`
}

/** What the form sent, as the API takes it. What has no field of its own goes along as it was. */
export const overridesOf = (values: Readonly<Record<string, string>>): Record<string, unknown> => {
  const number = (text: string): unknown => (Number.isNaN(Number(text)) ? text : Number(text))
  const attributes = parseAttributes(values.attributes)
  return {
    ...Object.fromEntries(texts.flatMap((name) => (values[name] ? [[name, values[name]]] : []))),
    ...Object.fromEntries(
      ['cpus', 'memory'].flatMap((name) => (values[name] ? [[name, number(values[name])]] : [])),
    ),
    ...Object.fromEntries(flags.flatMap((flag) => (values[flag] === 'yes' ? [[flag, true]] : []))),
    ...(attributes === undefined ? {} : { attributes }),
  }
}

const parseAttributes = (text: string | undefined): unknown => {
  if (!text) return undefined
  try {
    const attributes: unknown = JSON.parse(text)
    return JSON.stringify(attributes) === '{}' ? undefined : attributes
  } catch {
    return text
  }
}
