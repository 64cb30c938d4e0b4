import { html } from 'hono/html'
import type { SiteDetail } from '../../../api/resources/inventory/site-view.ts'
import { whatIsForgotten } from '../../../domain/inventory/site-removal.ts'
import { type SiteRole, settingsSchemaOf } from '../../../domain/inventory/site-settings.ts'
import { platformKinds } from '../../../platforms/ports/connection.ts'
import { forgetsFinished } from '../../kit/confirm-finished.ts'
import { emptyForm, type FormState, inputField, problemBox, selectField, textField } from '../../kit/form.ts'
import type { Page, PageContext } from '../../kit/page.ts'
import type { Html } from '../../kit/view.ts'
import { readSite, settingName } from './site.ts'

const hints: Readonly<Record<string, string>> = {
  import_limit: 'Copies at once; 0: no limit.',
  create_limit: 'Machines made at once; 0: no limit.',
  sync_limit: 'Machines asked for one by one at once.',
  connection_timeout_seconds: 'How long a connection may take.',
  sync_timeout_seconds: 'How long one machine may take to be read.',
  sync_interval_seconds: '0: only when asked.',
  check_interval_seconds: 'How often the connection is looked at.',
  scopes: 'Data centres or folders to look in, one a line; empty: everywhere.',
}

/** What a form field of a setting is called; the API calls it the same. */
const fieldOf = (setting: string): string => `settings.${setting}`

type Stored = Readonly<Record<string, unknown>>

const settingFields = (state: FormState, role: SiteRole, stored: Stored): Html[] =>
  Object.entries(settingsSchemaOf(role).shape).map(([name]) => {
    const value = stored[name]
    const options = { name: fieldOf(name), label: settingName(name), hint: hints[name] ?? '' }
    return Array.isArray(value)
      ? textField(state, { ...options, value: value.join('\n') })
      : inputField(state, { ...options, type: 'number', value: String(value) })
  })

/** Settings as the API takes them, from what a form sent. A number that is none is left for the API to refuse. */
export const settingsOf = (values: Readonly<Record<string, string>>, role: SiteRole): Stored =>
  Object.fromEntries(
    Object.keys(settingsSchemaOf(role).shape).flatMap((name): [string, unknown][] => {
      const text = values[fieldOf(name)]
      if (text === undefined) return []
      if (name === 'scopes')
        return [
          [
            name,
            text
              .split('\n')
              .map((line) => line.trim())
              .filter(Boolean),
          ],
        ]
      return [[name, text === '' ? null : Number.isNaN(Number(text)) ? text : Number(text)]]
    }),
  )

const trustFields = (state: FormState, stored: { ca: string; fingerprint: string }): Html => html`
${inputField(state, {
  name: 'fingerprint',
  label: 'Fingerprint of its certificate',
  hint: 'SHA-256. Empty: what answers is shown for comparison first, unless its authority is trusted.',
  value: stored.fingerprint,
})}
${textField(state, {
  name: 'ca',
  label: 'Certificate authority',
  hint: "PEM. Empty: the system's.",
  value: stored.ca,
})}`

/** The form for a new site; with what was wrong when it was sent before. */
export const newSitePage =
  (role: SiteRole, state: FormState = emptyForm) =>
  async (_context: PageContext): Promise<Page> => ({
    title: `Add a ${role}`,
    intro: html`${problemBox(state)}<form class="form" method="post" action="/add-${role}">
${inputField(state, { name: 'name', label: 'Name', required: true, maxlength: 63, hint: 'Letters, digits, dots, dashes. It stays for ever.' })}
${selectField(state, { name: 'kind', label: 'Platform', value: 'vsphere', choices: platformKinds.map((kind) => [kind, kind]) })}
${inputField(state, { name: 'endpoint', label: 'Address', type: 'url', required: true, hint: 'For example https://vcenter.example.org/sdk' })}
${inputField(state, { name: 'username', label: 'User name', required: true })}
${inputField(state, { name: 'password', label: 'Password', type: 'password', required: true, autocomplete: 'new-password', hint: 'Stored sealed, and never shown again.' })}
${trustFields(state, { ca: '', fingerprint: '' })}
<details><summary>Limits and times</summary>${settingFields(state, role, settingsSchemaOf(role).parse({}))}</details>
<div class="buttons"><button type="submit">Add the ${role}</button> <a href="/${role}s">Leave it</a></div></form>`,
    parts: [],
  })

/** The form for a site that is there. */
export const editSitePage =
  (role: SiteRole, state: FormState = emptyForm) =>
  async (context: PageContext): Promise<Page> => {
    const site = await readSite(context, role)
    const base = `/${role}s/${site.name}`
    return {
      title: `Change ${site.name}`,
      intro: html`${problemBox(state)}<form class="form" method="post" action="${base}/edit">
<input type="hidden" name="version" value="${state.values.version ?? site.version}">
${inputField(state, { name: 'endpoint', label: 'Address', type: 'url', required: true, value: site.endpoint, hint: 'Another address needs the password again.' })}
${inputField(state, { name: 'username', label: 'User name', required: true, value: site.username })}
${inputField(state, { name: 'password', label: 'Password', type: 'password', autocomplete: 'new-password', hint: 'Empty: it stays as it is.' })}
${trustFields(state, site)}
<fieldset><legend>Limits and times</legend>${settingFields(state, role, site.settings)}</fieldset>
<div class="buttons"><button type="submit">Save</button> <a href="${base}">Leave it</a></div></form>
<h2>Remove it</h2><form method="post" action="${base}/remove">${removalTells(site)}
<button type="submit" class="danger">Remove ${site.name}</button></form>`,
      parts: [],
    }
  }

const removalTells = ({ name, forgets }: SiteDetail): Html => {
  const meaning = whatIsForgotten(name, forgets)
  return forgets.finished > 0 ? forgetsFinished(forgets.finished, meaning) : html`<p>${meaning}</p>`
}
