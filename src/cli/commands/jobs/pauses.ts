import type { Json } from '../../kit/client.ts'
import { type Command, exitCodes, flag, text, UsageError } from '../../kit/command.ts'
import { field, fields, numbers, since } from '../../kit/output.ts'
import { itemsOf, list, verb } from '../../kit/rows.ts'

const scopes = [
  { name: 'scope', summary: 'kind or lane' },
  { name: 'name', summary: 'its name' },
]

const requireScope = (scope: string | undefined): void => {
  if (scope !== 'kind' && scope !== 'lane') throw new UsageError(`The scope is kind or lane, not "${scope}".`)
}

const drainLookMs = 1_000

const pause: Command = {
  name: 'pause',
  summary: 'Pause a kind or a lane: nothing of it starts; what runs goes on',
  covers: ['POST /v1/pauses'],
  args: scopes,
  options: {
    reason: text('text', 'why; others will see it (required)', {
      required: 'others will ask why nothing starts',
    }),
    wait: flag('wait until nothing of it runs: a drain'),
  },
  run: async ({ client, output, args, values }) => {
    const [scope, name] = args
    requireScope(scope)
    let line: Json | undefined = await client.post('/v1/pauses', { scope, name, reason: values.reason })
    while (values.wait && line && Number(line.running) > 0) {
      output.live(`${line.running} still run`)
      await client.sleep(drainLookMs)
      line = itemsOf(await client.get('/v1/pauses')).find(
        (item) => item.scope === scope && item.name === name,
      )
    }
    output.live('')
    if (!line) {
      output.note(`Somebody resumed the ${scope} ${name} before it was drained.`)
      return exitCodes.failed
    }
    output.show(line, () =>
      output.line(`The ${scope} ${name} is paused; ${line?.running} of its jobs still run.`),
    )
    return exitCodes.ok
  },
}

export const pauseCommands: readonly Command[] = [
  list({
    name: 'pauses',
    summary: 'What is paused, and how much of it still runs',
    asks: 'GET /v1/pauses',
    paged: false,
    empty: 'Nothing is paused.',
    columns: [
      ...fields('scope', 'name'),
      numbers('running'),
      field('paused_by', 'by'),
      since('paused_at', 'since'),
      field('reason'),
    ],
  }),
  pause,
  verb({
    name: 'resume',
    summary: 'Let a kind or a lane go on',
    asks: 'DELETE /v1/pauses/{scope}/{name}',
    args: scopes,
    answer: ({ args: [scope, name] }) => {
      requireScope(scope)
      return { scope, name, paused: false }
    },
    said: ({ scope, name }) => `The ${scope} ${name} goes on.`,
  }),
]
