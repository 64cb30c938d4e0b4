import { connectivityStates } from '../../../domain/inventory/connectivity.ts'
import { type Forgotten, whatIsForgotten } from '../../../domain/inventory/site-removal.ts'
import type { Json } from '../../kit/client.ts'
import { type Call, type Command, choice, flag, text, textOf, UsageError } from '../../kit/command.ts'
import { confirmCount, confirmIfPerson, confirmOptions } from '../../kit/confirm.ts'
import { downLines } from '../../kit/down.ts'
import { field, fields, numbers, type Output, since, when } from '../../kit/output.ts'
import { readPassword } from '../../kit/password.ts'
import { anyVersion, codeOf, download, itemsOf, list, pathOf, show, versionOf } from '../../kit/rows.ts'
import { afterAccepted, untilEnded, waitOption } from '../../kit/wait.ts'
import { caOf, connectionOptions, settingsOf, signIn } from './site-options.ts'

type Noun = 'sources' | 'targets'
type Forgets = Forgotten & { readonly finished: number }

const kinds = ['lab', 'vsphere']
const oneOf = (noun: Noun) => noun.slice(0, -1)
const nameArg = (noun: Noun) => ({ name: 'name', summary: `the name of a ${oneOf(noun)}` })

const printSite = (output: Output, site: Json): void => {
  const connectivity = site.connectivity as Json
  const seen = connectivity.seen_certificate as Json | null
  const sync = site.sync as Json
  output.fields([
    ['name', site.name],
    ['kind', site.kind],
    ['endpoint', site.endpoint],
    ['username', site.username],
    ['connectivity', connectivity.state],
    ...when(connectivity.message, (message) => [
      ['why', message],
      ['remedy', connectivity.remedy],
    ]),
    ...when(seen, (found) => Object.entries(found).map(([name, value]) => [`seen ${name}`, value])),
    ...downLines(site.down),
    ['checked', connectivity.checked_at],
    ['fingerprint', site.fingerprint],
    ['identity', site.identity],
    ['capabilities', Array.isArray(site.capabilities) ? site.capabilities.join(' ') : ''],
    ['syncing', site.syncing ? `yes, job ${sync.job_id}` : 'no'],
    ['synced', sync.synced_at],
    ['next sync', sync.next_at],
    ['sync error', (sync.error as Json | null)?.message],
    ['revision', site.revision],
    ...Object.entries((site.counts as Json | undefined) ?? {}),
    ...Object.entries((site.settings as Json | undefined) ?? {}),
  ])
}

const addCommand = (noun: Noun): Command => ({
  name: `${noun} add`,
  summary: `Add a ${oneOf(noun)}; its connection is checked, and its first sync follows`,
  covers: [`POST /v1/${noun}`],
  args: [nameArg(noun), { name: 'endpoint', summary: 'such as https://vcenter.example.org/sdk' }],
  options: {
    kind: choice('kind', kinds, 'what answers there (vsphere)'),
    ...connectionOptions,
    username: { ...signIn, required: '' },
    wait: flag('wait for the check; exit code 1 when it is not connected'),
  },
  run: async (call) => {
    const [name, endpoint] = call.args
    const username = textOf(call.values, 'username')
    const body = {
      name,
      endpoint,
      kind: textOf(call.values, 'kind') ?? 'vsphere',
      username,
      ca: caOf(call),
      fingerprint: textOf(call.values, 'fingerprint'),
      settings: settingsOf(call),
      password: await readPassword(call, `Password of ${username} at ${endpoint}: `),
    }
    const site = await call.client.post(`/v1/${noun}`, body)
    if (call.values.wait === true) return await followCheck(call, noun, String(name))
    call.output.show(site, () =>
      call.output.line(`The ${oneOf(noun)} ${name} is added: drover ${noun} show ${name}`),
    )
  },
})

/** Waits until nobody checks the connection any more, and shows how it stands. */
const followCheck = async (call: Call, noun: Noun, name: string): Promise<number> => {
  const query = { subject: `${oneOf(noun)}/${name}`, kind: 'check-connection', limit: 1 }
  const [job] = itemsOf(await call.client.get('/v1/jobs', query))
  if (job) await untilEnded(call, String(job.id))
  return await sayConnection(call, noun, name)
}

/** The exit code is 0 when it is connected, and not because a look was taken. */
const sayConnection = async (call: Call, noun: Noun, name: string): Promise<number> => {
  const site = await call.client.get(pathOf(noun, name))
  call.output.show(site, () => printSite(call.output, site))
  const { state } = site.connectivity as Json
  if (state === 'confirm-fingerprint')
    call.output.note(`Compare the fingerprint with the server's own, then: drover ${noun} confirm ${name}`)
  return codeOf(state === 'ok')
}

const setCommand = (noun: Noun): Command => ({
  name: `${noun} set`,
  summary: `Change a ${oneOf(noun)}`,
  covers: [`PATCH /v1/${noun}/{name}`],
  args: [nameArg(noun)],
  options: {
    endpoint: text('url', 'another address; the password is asked for with it'),
    ...connectionOptions,
    password: flag('another password: you are asked for it'),
  },
  run: async (call) => {
    const { client, output, values } = call
    const path = pathOf(noun, call.args[0])
    const asks =
      values.password === true || values['password-stdin'] === true || values.endpoint !== undefined
    const change = {
      endpoint: textOf(values, 'endpoint'),
      username: textOf(values, 'username'),
      ca: caOf(call),
      fingerprint: textOf(values, 'fingerprint'),
      settings: settingsOf(call),
      password: asks ? await readPassword(call, `Password for ${call.args[0]}: `) : undefined,
    }
    if (Object.values(change).every((value) => value === undefined))
      throw new UsageError('Say what to change: --endpoint, --username, --password, --setting, …')
    const { body } = await client.ask('PATCH', path, { body: change, headers: await versionOf(call, path) })
    output.show(body, () => output.line(`The ${oneOf(noun)} ${body.name} is changed.`))
  },
})

const removeCommand = (noun: Noun): Command => ({
  name: `${noun} remove`,
  summary: `Remove a ${oneOf(noun)} and its inventory`,
  covers: [`DELETE /v1/${noun}/{name}`],
  args: [nameArg(noun)],
  options: confirmOptions,
  run: async (call) => {
    const { client, output, args } = call
    const path = pathOf(noun, args[0])
    await confirmIfPerson(call, async () => {
      const { finished, ...forgotten } = (await client.get(path)).forgets as Forgets
      // Of what has finished the API asks by number, with the rest.
      return finished > 0 ? '' : whatIsForgotten(String(args[0]), forgotten)
    })
    const removePart = (confirmed: number | undefined) =>
      client.ask('DELETE', path, { headers: anyVersion, query: { confirm_finished: confirmed } })
    let part = await confirmCount(call, removePart)
    // A large inventory goes in parts: 202 says that there is more.
    while (part.status === 202) {
      output.live(`${part.body.instances_left} machines are left`)
      part = await removePart(Number(part.body.finished_left))
    }
    output.live('')
    output.show({ name: args[0], deleted: true }, () => output.line('It is removed.'))
  },
})

const verbCommand = (noun: Noun, verb: 'sync' | 'check', options: Command['options']): Command => ({
  name: `${noun} ${verb}`,
  summary: verb === 'sync' ? `Read the inventory of a ${oneOf(noun)} now` : 'Check the connection now',
  covers: [`POST /v1/${noun}/{name}/:${verb}`],
  args: [nameArg(noun)],
  options: { ...options, wait: waitOption },
  run: async (call) => {
    const { values } = call
    const body =
      verb === 'sync'
        ? { mode: values.full === true ? 'full' : 'delta', force: values.force === true }
        : undefined
    const job = await call.client.post(pathOf(noun, call.args[0], `:${verb}`), body)
    if (verb === 'sync' || values.wait !== true)
      return await afterAccepted(call, job, verb === 'sync' ? 'The sync' : 'The check')
    // The job of a check succeeds when it has found out; what it found is the answer.
    await untilEnded(call, String(job.id))
    return await sayConnection(call, noun, String(call.args[0]))
  },
})

const confirmCommand = (noun: Noun): Command => ({
  name: `${noun} confirm`,
  summary: 'Trust the certificate that was seen, by its fingerprint',
  covers: [`POST /v1/${noun}/{name}/:confirm-fingerprint`],
  args: [nameArg(noun), { name: 'fingerprint', summary: 'as the server itself shows it (SHA-256)' }],
  options: { wait: waitOption },
  run: async (call) => {
    const [name, fingerprint] = call.args
    const job = await call.client.post(pathOf(noun, name, ':confirm-fingerprint'), { fingerprint })
    if (call.values.wait !== true)
      return await afterAccepted(call, job, 'The fingerprint is pinned; the check')
    await untilEnded(call, String(job.id))
    return await sayConnection(call, noun, String(name))
  },
})

const commandsOf = (noun: Noun): Command[] => [
  list({
    name: `${noun} list`,
    summary: `List ${noun}`,
    asks: `GET /v1/${noun}`,
    empty: `There are no ${noun}: drover ${noun} add`,
    filters: {
      kind: choice('kind', kinds, 'only of this kind'),
      connectivity: choice('state', connectivityStates, 'only in this state'),
    },
    columns: [
      ...fields('name', 'kind'),
      field('connectivity.state', 'connectivity'),
      field('endpoint'),
      since('sync.synced_at', 'synced'),
      numbers('revision'),
      { title: 'note', value: noteOf },
    ],
  }),
  show({
    name: `${noun} show`,
    summary: `Show a ${oneOf(noun)}, its connection and its last sync`,
    asks: `GET /v1/${noun}/{name}`,
    args: [nameArg(noun)],
    print: printSite,
  }),
  addCommand(noun),
  setCommand(noun),
  removeCommand(noun),
  verbCommand(noun, 'sync', {
    full: flag('read everything, not only what changed'),
    force: flag('believe it when it shows nothing at all'),
  }),
  verbCommand(noun, 'check', {}),
  confirmCommand(noun),
  download({
    name: `${noun} dump`,
    summary: 'Everything known about it, for support, without secrets (a line of JSON each)',
    asks: `GET /v1/${noun}/{name}/:dump`,
    args: [nameArg(noun)],
    as: 'json',
  }),
]

const noteOf = ({ syncing, connectivity, sync }: Json): unknown =>
  syncing ? 'syncing' : ((connectivity as Json).message ?? ((sync as Json).error as Json | null)?.message)

export const sourceCommands: readonly Command[] = commandsOf('sources')
export const targetCommands: readonly Command[] = commandsOf('targets')
