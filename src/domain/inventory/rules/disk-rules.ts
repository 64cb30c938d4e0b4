import type { DiskFacts } from '../facts.ts'
import { defineRule, each, when } from './rule.ts'

const disk = ({ label, name, key }: DiskFacts): string => `Disk ${label || key}${name ? ` (${name})` : ''}`
const gib = (bytes: number): string => `${Math.round(bytes / 2 ** 30)} GiB`
const tib = 2 ** 40

export const diskRules = [
  defineRule({
    id: 'no-disks',
    severity: 'critical',
    waivable: false,
    title: 'There is no disk to copy',
    remedy: 'Add a disk, or leave this instance out: there is nothing to migrate.',
    test: ({ disks }) => when(disks.length === 0, () => 'The instance has no disk.'),
  }),
  defineRule({
    id: 'disk-raw',
    severity: 'critical',
    waivable: false,
    title: 'A disk is a raw device of the host',
    remedy: 'Move its content to a virtual disk, or detach it and connect it anew after the migration.',
    test: ({ disks }) =>
      each(
        disks,
        ({ backing }) => backing === 'raw',
        (d) => `${disk(d)} is a raw device.`,
      ),
  }),
  defineRule({
    id: 'disk-raw-mapping',
    severity: 'critical',
    waivable: false,
    title: 'A disk is a raw device mapping (RDM)',
    remedy:
      'Convert it to a virtual disk, or detach it and connect the LUN to the target after the migration.',
    test: ({ disks }) =>
      each(
        disks,
        ({ backing }) => backing === 'raw-mapping',
        (d) => `${disk(d)} maps a LUN.`,
      ),
  }),
  defineRule({
    id: 'disk-backing-unknown',
    severity: 'critical',
    waivable: false,
    title: 'Nobody knows how a disk is stored',
    remedy: 'Look at the disk in the platform; move it to a datastore, or detach it; then sync.',
    test: ({ disks }) =>
      each(
        disks,
        ({ backing }) => backing === 'unknown',
        (d) => `${disk(d)} has an unknown backing.`,
      ),
  }),
  defineRule({
    id: 'disk-capacity-invalid',
    severity: 'critical',
    waivable: false,
    title: 'A disk has no valid size',
    remedy: 'Look at the disk in the platform; repair or detach it, then sync.',
    test: ({ disks }) =>
      each(
        disks,
        ({ capacity }) => capacity <= 0 || capacity % 512 !== 0,
        (d) => `${disk(d)} has ${d.capacity} bytes.`,
      ),
  }),
  defineRule({
    id: 'disk-independent',
    severity: 'critical',
    title: 'A disk is independent of snapshots',
    remedy:
      'Make it dependent, then sync. With a waiver it is copied whole while the machine is off: all of its bytes are downtime.',
    test: ({ disks }) =>
      each(
        disks,
        ({ mode }) => mode === 'independent',
        (d) => `${disk(d)} takes no part in snapshots.`,
      ),
  }),
  defineRule({
    id: 'disk-mode-unknown',
    severity: 'critical',
    waivable: false,
    title: 'It is not known whether a disk takes part in snapshots',
    remedy: 'Set the mode of the disk to dependent in the platform, or detach the disk; then sync.',
    test: ({ disks }) =>
      each(
        disks,
        ({ mode }) => mode === 'unknown',
        (d) => `${disk(d)} has an unknown mode.`,
      ),
  }),
  defineRule({
    id: 'disk-shared',
    severity: 'critical',
    waivable: false,
    title: 'A disk is shared with other machines',
    remedy:
      'Stop sharing it (the disk and its bus), or detach it and migrate the cluster with its own means; then sync. Others write to it while it is copied.',
    test: ({ disks }) =>
      each(
        disks,
        ({ shared }) => shared,
        (d) => `${disk(d)} is shared.`,
      ),
  }),
  defineRule({
    id: 'disk-encrypted',
    severity: 'critical',
    title: 'A disk is encrypted by the platform',
    remedy:
      'Decrypt it (its storage policy), then sync. Where its platform reads it as plain data, waive this if the copy is meant to hold that.',
    test: ({ disks }) =>
      each(
        disks,
        ({ encrypted }) => encrypted,
        (d) => `${disk(d)} is encrypted.`,
      ),
  }),
  defineRule({
    id: 'disk-unreadable',
    severity: 'critical',
    waivable: false,
    title: 'A disk cannot be read on its platform',
    remedy:
      'Decrypt it (its storage policy), or move it to a plain virtual disk by a storage migration; then sync.',
    test: ({ disks }) =>
      each(
        disks,
        ({ unreadable }) => unreadable !== undefined,
        (d) => `${disk(d)} ${d.unreadable}.`,
      ),
  }),
  defineRule({
    id: 'disk-without-datastore',
    severity: 'critical',
    title: 'A disk is on no datastore',
    remedy: 'Look at the disk in the platform: its datastore may be gone.',
    test: ({ disks }) =>
      each(
        disks,
        (d) => d.backing === 'file' && d.datastore === '',
        (d) => `${disk(d)} names no datastore.`,
      ),
  }),
  defineRule({
    id: 'datastore-unknown',
    severity: 'warning',
    title: 'A disk is on a datastore that the inventory does not have',
    remedy: 'Check the permissions of the account of this source on the datastore, then sync.',
    test: ({ disks }, { datastoreAccessible }) =>
      each(
        disks,
        ({ datastore }) => datastore !== '' && datastoreAccessible(datastore) === undefined,
        (d) => `${disk(d)} is on ${d.datastore}, which nobody listed.`,
      ),
  }),
  defineRule({
    id: 'datastore-inaccessible',
    severity: 'critical',
    title: 'A disk is on a datastore that cannot be read',
    remedy: 'Bring the datastore back, then sync.',
    test: ({ disks }, { datastoreAccessible }) =>
      each(
        disks,
        ({ datastore }) => datastore !== '' && datastoreAccessible(datastore) === false,
        (d) => `${disk(d)} is on ${d.datastore}, which is not accessible.`,
      ),
  }),
  defineRule({
    id: 'too-many-disks',
    severity: 'warning',
    title: 'There are very many disks',
    remedy: 'Check that the target takes so many. Their copies share one source host.',
    test: ({ disks }) =>
      when(disks.length > 50, () => `The instance has ${disks.length} disks; 50 are usual at most.`),
  }),
  defineRule({
    id: 'disk-huge',
    severity: 'info',
    title: 'A disk is very large',
    remedy: 'Start its first copy early: the plan tells how long it takes.',
    test: ({ disks }) =>
      each(
        disks,
        ({ capacity }) => capacity > 2 * tib,
        (d) => `${disk(d)} has ${gib(d.capacity)}.`,
      ),
  }),
]
