import { request } from 'node:https'
import type { Vcsim } from './vcsim.ts'

export interface TagSetter {
  /** Makes category and tag where they are missing. */
  attach(category: string, tag: string, machine: string): Promise<void>
  detach(category: string, tag: string, machine: string): Promise<void>
}

/** Puts tags on machines as a person would; the simulator has the interface of vCenter 6.5. */
export const setTags = async (vcsim: Vcsim): Promise<TagSetter> => {
  const { username, password } = vcsim.connection
  const basic = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  const id = await send(vcsim, 'POST', '/session', { Authorization: basic })
  const headers = { 'vmware-api-session-id': String(id) }
  const make = async (kind: string, spec: Record<string, unknown>) =>
    String(await send(vcsim, 'POST', `/tagging/${kind}`, headers, { create_spec: spec }))
  const known = new Map<string, Promise<string>>()
  const once = (key: string, work: () => Promise<string>): Promise<string> => {
    const made = known.get(key) ?? work()
    known.set(key, made)
    return made
  }
  const tagOf = async (category: string, name: string) => {
    const cardinality = { cardinality: 'MULTIPLE', associable_types: [], description: '' }
    const category_id = await once(category, () => make('category', { name: category, ...cardinality }))
    return once(`${category}/${name}`, () => make('tag', { name, category_id, description: '' }))
  }
  const change = (action: string) => async (category: string, tag: string, machine: string) => {
    const path = `/tagging/tag-association/id:${await tagOf(category, tag)}?~action=${action}`
    await send(vcsim, 'POST', path, headers, { object_id: { type: 'VirtualMachine', id: machine } })
  }
  return { attach: change('attach'), detach: change('detach') }
}

const send = (
  { port }: Vcsim,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: unknown,
): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        method,
        path: `/rest/com/vmware/cis${path}`,
        headers,
        rejectUnauthorized: false,
        agent: false,
      },
      (answer) => {
        let text = ''
        answer.on('data', (chunk) => {
          text += chunk
        })
        answer.on('end', () => {
          if (answer.statusCode !== 200) reject(new Error(`${path}: HTTP ${answer.statusCode} ${text}`))
          else resolve(text === '' ? undefined : (JSON.parse(text) as { value?: unknown }).value)
        })
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body === undefined ? undefined : JSON.stringify(body))
  })
