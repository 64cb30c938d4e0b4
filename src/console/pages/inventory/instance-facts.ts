import { html } from 'hono/html'
import type { InstanceDetail } from '../../../api/resources/inventory/instance-view.ts'
import type { InstanceFacts } from '../../../domain/inventory/facts.ts'
import type { EffectiveFacts } from '../../../domain/inventory/overrides.ts'
import { bytes } from '../../../domain/text/bytes.ts'
import { mayOperate, type PageContext } from '../../kit/page.ts'
import { outside, visible } from '../../kit/shown.ts'
import { ago, definition, type Html, jsonBlock, table } from '../../kit/view.ts'
import { systemText } from './instances.ts'
import { placementText } from './networks.ts'

/** The facts that the API gives as they are stored. */
const effectiveOf = ({ effective }: InstanceDetail): EffectiveFacts => effective as unknown as EffectiveFacts
const saidOf = ({ facts }: InstanceDetail): InstanceFacts => facts as unknown as InstanceFacts

const known = (text: string): string => visible(text) || 'not known'

/** What it is, after a person's word; where that differs, what the source says too. */
export const factsHtml = (context: PageContext, instance: InstanceDetail): Html => {
  const facts = effectiveOf(instance)
  const said = saidOf(instance)
  const by = (shown: string, source: string): Html =>
    shown === source
      ? html`${shown}`
      : html`${shown} <span class="mark">by hand; its source says ${source || 'nothing'}</span>`
  return html`${definition([
    ['Name', by(visible(facts.name), visible(said.name))],
    ['Name on a target', visible(facts.target_name) || 'none: it needs one'],
    [
      'System',
      html`${systemText(facts)} <span class="dim">${visible(facts.os_description || facts.os)}</span>`,
    ],
    ['CPUs', by(String(facts.cpus), String(said.cpus))],
    ['Memory', by(bytes(facts.memory), bytes(said.memory))],
    [
      'Boot',
      [facts.legacy_boot ? 'BIOS' : 'UEFI', facts.secure_boot ? 'secure boot' : '', facts.tpm ? 'TPM' : '']
        .filter(Boolean)
        .join(', '),
    ],
    ['Guest agent', `${facts.guest.agent.replaceAll('-', ' ')} ${visible(facts.guest.agent_version)}`.trim()],
    ['Host name', known(facts.guest.hostname)],
    ['Runs on', `${known(facts.host)}, cluster ${known(facts.cluster)}`],
    ['Tracking', trackingText(instance)],
    ['Tags', tagsText(facts)],
    ['Comment', visible(facts.description) || 'none'],
    ['UUID', html`<code>${visible(instance.uuid) || 'none'}</code>`],
    [
      'Read',
      html`changed ${ago(instance.changed_at, context.nowMs)}, known since ${ago(instance.first_seen_at, context.nowMs)}`,
    ],
  ])}
${overridesHtml(context, instance)}
${jsonBlock('Everything that its source says', instance.facts)}
<p class="dim">The same for programs: <a href="/v1/instances/${instance.id}">/v1/instances/${instance.id}</a></p>`
}

const trackingText = ({ tracking }: InstanceDetail): string =>
  ({
    off: 'changed blocks are not tracked',
    unverified: 'on, not proved yet',
    refused: 'the platform refuses it for a disk',
    verified: 'proved',
  })[tracking]

const tagsText = ({ tags }: EffectiveFacts): Html => {
  const entries = Object.entries(tags).flatMap(([category, names]) =>
    names.map((name) => (category === '' ? name : `${category}: ${name}`)),
  )
  return entries.length === 0
    ? html`none`
    : html`${entries.map((text) => html`<span class="mark">${outside(text)}</span> `)}`
}

const overridesHtml = (context: PageContext, instance: InstanceDetail): Html => {
  const given = Object.entries(instance.overrides)
  return html`<h3>What people decided</h3>${
    given.length === 0
      ? html`<p class="dim">Nothing: it is as its source says.</p>`
      : definition(
          given.map(
            ([name, value]) =>
              [
                name.replaceAll('_', ' '),
                visible(typeof value === 'string' ? value : JSON.stringify(value)),
              ] as const,
          ),
        )
  }${mayOperate(context) ? html`<p><a class="action" href="/instances/${instance.id}/overrides">Change what people decided</a></p>` : ''}`
}

export const disksHtml = (instance: InstanceDetail): Html =>
  table({
    label: 'Disks',
    head: ['Disk', 'Size', 'Where', 'How', 'Tracking'],
    empty: 'It has no disk.',
    rows: saidOf(instance).disks.map((disk) => {
      const how = [
        disk.backing === 'file' || disk.backing === 'volume' ? '' : disk.backing.replaceAll('-', ' '),
        disk.mode === 'independent' ? 'independent' : '',
        disk.shared ? 'shared' : '',
        disk.encrypted ? 'encrypted' : '',
        disk.thin ? 'thin' : '',
      ]
      return html`<tr data-key="${disk.key}"><th scope="row" class="long">${outside(disk.label || disk.key)}</th>
<td class="nowrap">${bytes(disk.capacity)}${disk.used === null ? '' : html` <span class="dim">(${bytes(disk.used)} used)</span>`}</td>
<td class="long">${outside(disk.name || disk.datastore)}</td><td>${how.filter(Boolean).join(', ') || 'plain'}</td>
<td>${visible(instance.disk_tracking[disk.key] ?? (disk.change_id === null ? 'off' : 'on'))}</td></tr>`
    }),
  })

export const nicsHtml = (instance: InstanceDetail): Html => {
  const places = new Map(instance.networks.map((place) => [place.nic, place]))
  return table({
    label: 'Network cards',
    head: ['Card', 'Network', 'Addresses', 'Lands on'],
    empty: 'It has no network card.',
    rows: saidOf(instance).nics.map((nic) => {
      const place = places.get(nic.key)
      const network = outside(place?.network ?? nic.network)
      return html`<tr data-key="${nic.key}"><th scope="row"><code>${visible(nic.mac)}</code>${nic.connected ? '' : html` <span class="mark">not connected</span>`}</th>
<td class="long">${place?.network_id ? html`<a href="/networks/${place.network_id}">${network}</a>` : network}</td>
<td class="long">${[...nic.ipv4_addresses, ...nic.ipv6_addresses].map(visible).join(', ') || html`<span class="dim">none known</span>`}</td>
<td class="long">${place?.placement ? placementText(place.placement) : html`<span class="dim">not decided</span>`}</td></tr>`
    }),
  })
}

export const snapshotsHtml = (instance: InstanceDetail, nowMs: number): Html =>
  table({
    label: 'Snapshots',
    head: ['Name', 'Made', 'With memory'],
    empty: 'None.',
    rows: saidOf(instance).snapshots.map(
      (
        snapshot,
      ) => html`<tr data-key="${snapshot.ref}"><th scope="row" class="long">${outside(snapshot.name)}</th>
<td>${ago(snapshot.created_at, nowMs)}</td><td>${snapshot.memory ? 'yes' : 'no'}</td></tr>`,
    ),
  })

export const devicesHtml = (instance: InstanceDetail): Html =>
  table({
    label: 'Other devices',
    head: ['Device', 'Kind', 'Connected'],
    empty: 'None that matters.',
    rows: saidOf(instance).devices.map(
      (
        device,
        at,
      ) => html`<tr data-key="device-${at}"><th scope="row" class="long">${outside(device.label)}</th>
<td>${device.kind.replaceAll('-', ' ')}</td><td>${device.connected ? 'yes' : 'no'}</td></tr>`,
    ),
  })
