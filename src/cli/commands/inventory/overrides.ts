import type { Json } from '../../kit/client.ts'
import { type Call, flag, jsonOf, type Options, text, UsageError } from '../../kit/command.ts'
import { isFields, mergeSettings } from '../../kit/merge-settings.ts'
import { matching } from '../../kit/rows.ts'

/** Changes of overrides by some of their fields. */
export const overrideOptions = (example: string): Options => ({
  set: text('json', `fields to change, such as '${example}'; others stay, null takes one away`),
  clear: flag('take all of them away'),
})

/** Shows, changes or clears overrides. `read`: where they are read, if not where they are written. */
export const editOverrides = async (call: Call, path: string, read = path): Promise<undefined> => {
  const { client, output, values } = call
  const wanted = jsonOf(values, 'set')
  if (wanted !== undefined && values.clear === true) throw new UsageError('Either --set or --clear.')
  if (wanted !== undefined && !isFields(wanted))
    throw new UsageError('--set must be a JSON object of fields.')
  const { headers: found, body } = await client.ask('GET', read)
  const headers = matching(found)
  if (values.clear === true) {
    await client.ask('DELETE', path, { headers })
    output.show({ cleared: true }, () => output.line('The overrides are taken away.'))
    return
  }
  const merged = wanted && mergeSettings((body.overrides ?? {}) as Json, wanted)
  const shown = merged ? (await client.ask('PUT', path, { body: merged, headers })).body : body
  output.show(shown, () => {
    const fields = Object.entries((shown.overrides ?? {}) as Json)
    if (fields.length === 0) output.line('There are no overrides.')
    else output.fields(fields)
  })
}
