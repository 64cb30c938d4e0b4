import { html } from 'hono/html'
import { ApiError, type FieldError, toApiError } from '../../api/wire/problem.ts'
import { saidBeside } from '../../domain/text/sentence.ts'
import { visible } from './shown.ts'
import type { Html } from './view.ts'

/** What a person typed, and what was wrong with it. */
export interface FormState {
  readonly values: Readonly<Record<string, string>>
  readonly errors: readonly FieldError[]
  /** What no field is to blame for. */
  readonly problem?: { readonly message: string; readonly remedy: string }
}

export const emptyForm: FormState = { values: {}, errors: [] }

/** Statuses that a person can mend in the form they have just sent. */
const mendable = [409, 412, 422] as const
type Mendable = (typeof mendable)[number]

/** What a person does on the page, where the API says what a program sends. By code. */
const remedies: Readonly<Record<string, string>> = {
  'version-mismatch': 'Open the page anew, look at what was changed, then decide again.',
  'finished-not-confirmed': 'Look at what is forgotten now, and tick it when that is what you mean.',
  'site-not-connected': 'Mend the connection, then check it.',
  'nothing-to-confirm': 'Check the connection, then look at what it shows.',
  'waiver-exists': 'Remove the waiver that there is first.',
}

/** What the answer to a refusal has as its status; what a person cannot mend is thrown on. */
export const statusOf = (thrown: unknown): Mendable => {
  const told = toApiError(thrown)
  const known = mendable.find((one) => one === told.status)
  if (known === undefined && told instanceof ApiError) throw thrown
  return known ?? 422
}

/** The form again with what the API said; what is not the form's fault is thrown on. */
export const refusedForm = (thrown: unknown, values: Readonly<Record<string, string>>): FormState => {
  statusOf(thrown)
  const told = toApiError(thrown)
  const { code, field, message, remedy } = told instanceof ApiError ? told : told.error
  const listed = told instanceof ApiError ? told.errors : undefined
  const errors = listed ?? (field ? [{ field, message }] : [])
  return { values, errors, problem: { message, remedy: remedies[code] ?? remedy } }
}

/** Says above the form that nothing was done, and takes the reader there. */
export const problemBox = ({ problem, errors }: FormState): Html =>
  problem === undefined
    ? html``
    : html`<div class="problem" role="alert"><p><strong>Nothing was changed.</strong> ${
        errors.length > 0 ? 'See what is said at the fields.' : problem.message
      }</p>${errors.length > 0 ? '' : html`<p>${problem.remedy}</p>`}</div>`

/** The same where no field could say what was wrong: the refusal, all that is listed with it, and its remedy. */
export const refusalBox = ({ problem, errors }: FormState, lead = 'Nothing was changed.'): Html => {
  if (problem === undefined) return html``
  const beside = saidBeside(problem.message, errors)
  return html`<div class="problem" role="alert"><p><strong>${lead}</strong> ${visible(problem.message)}</p>${
    beside.length === 0 ? '' : html`<ul>${beside.map((line) => html`<li>${visible(line)}</li>`)}</ul>`
  }<p>${visible(problem.remedy)}</p></div>`
}

interface FieldOptions {
  /** The API's name of it, by which it is told that it is wrong. */
  readonly name: string
  readonly label: string
  readonly hint?: string
  readonly required?: boolean
  readonly type?: 'text' | 'url' | 'password' | 'number' | 'date'
  /** Shown when nothing was typed yet. */
  readonly value?: string
  readonly autocomplete?: string
  readonly maxlength?: number
}

const idOf = (name: string): string => `in-${name.replaceAll('.', '-')}`

const said = (state: FormState, name: string): readonly string[] =>
  state.errors.filter(({ field }) => field === name).map(({ message }) => message)

/** Label above, hint and error below, both tied to the control. */
const framed = (
  state: FormState,
  { name, label, hint, required }: FieldOptions,
  control: (marks: Html) => Html,
): Html => {
  const id = idOf(name)
  const errors = said(state, name)
  const about = [...(hint === undefined ? [] : [`${id}-hint`]), ...(errors.length > 0 ? [`${id}-error`] : [])]
  const marks = html` id="${id}" name="${name}"${required ? html` required` : ''}${
    errors.length > 0 ? html` aria-invalid="true"` : ''
  }${about.length > 0 ? html` aria-describedby="${about.join(' ')}"` : ''}`
  return html`<div class="field"><label for="${id}">${label}</label>
${control(marks)}
${hint === undefined ? '' : html`<p class="hint" id="${id}-hint">${hint}</p>`}
${errors.length === 0 ? '' : html`<p class="field-error" id="${id}-error">${errors.join(' ')}</p>`}</div>`
}

const typedOf = (state: FormState, { name, value }: FieldOptions): string => state.values[name] ?? value ?? ''

/** A password is never shown again, not even to the one who typed it. */
export const inputField = (state: FormState, options: FieldOptions): Html =>
  framed(
    state,
    options,
    (marks) =>
      html`<input${marks} type="${options.type ?? 'text'}"${
        options.type === 'password' ? '' : html` value="${typedOf(state, options)}"`
      } autocomplete="${options.autocomplete ?? 'off'}" maxlength="${options.maxlength ?? 2048}" spellcheck="false">`,
  )

export const textField = (state: FormState, options: FieldOptions): Html =>
  framed(
    state,
    options,
    (marks) => html`<textarea${marks} rows="3" spellcheck="false">${typedOf(state, options)}</textarea>`,
  )

export const selectField = (
  state: FormState,
  options: FieldOptions & { readonly choices: readonly (readonly [value: string, text: string])[] },
): Html => {
  const chosen = typedOf(state, options)
  return framed(
    state,
    options,
    (marks) =>
      html`<select${marks}>${options.choices.map(
        ([value, text]) =>
          html`<option value="${value}"${value === chosen ? html` selected` : ''}>${text}</option>`,
      )}</select>`,
  )
}
