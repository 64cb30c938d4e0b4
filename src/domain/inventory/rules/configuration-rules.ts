import { isCopiedRunning } from '../copy-way.ts'
import { trackingState } from '../tracking.ts'
import { defineRule, when } from './rule.ts'

const hardwareGeneration = (version: string): number =>
  Number(/^vmx-0*(\d+)$/i.exec(version)?.[1] ?? Number.NaN)

export const configurationRules = [
  defineRule({
    id: 'disabled',
    severity: 'critical',
    waivable: false,
    title: 'Migration is switched off by hand',
    remedy: 'Set the override disable_migration to false.',
    test: (_facts, { overrides }) =>
      when(overrides.disable_migration === true, () =>
        overrides.comment ? `Somebody wrote: ${overrides.comment.slice(0, 300)}` : 'An override says so.',
      ),
  }),
  defineRule({
    id: 'no-size',
    severity: 'critical',
    waivable: false,
    title: 'It has no processor or no memory',
    remedy: 'Set cpus and memory as overrides, or look at the machine in the platform.',
    test: ({ cpus, memory }) =>
      when(cpus === 0 || memory === 0, () => `It has ${cpus} processors and ${memory} bytes of memory.`),
  }),
  defineRule({
    id: 'suspended',
    severity: 'critical',
    title: 'It is suspended',
    remedy: 'Resume it and shut it down: what only its memory holds is not copied.',
    test: ({ power_state }) =>
      when(power_state === 'suspended', () => 'Its memory is saved, its guest stands still.'),
  }),
  defineRule({
    id: 'fault-tolerant',
    severity: 'warning',
    title: 'It runs twice for fault tolerance',
    remedy: 'Switch fault tolerance off before the migration: such a machine takes no snapshots.',
    test: ({ fault_tolerant }) => when(fault_tolerant, () => 'Fault tolerance is on.'),
  }),
  defineRule({
    id: 'cpu-hot-plug',
    severity: 'warning',
    title: 'Processors can be added while it runs',
    remedy: 'The target does not have this; a change of processors needs a restart there.',
    test: ({ cpu_hot_plug }) => when(cpu_hot_plug, () => 'Hot-plug of processors is on.'),
  }),
  defineRule({
    id: 'memory-hot-plug',
    severity: 'warning',
    title: 'Memory can be added while it runs',
    remedy: 'The target does not have this; a change of memory needs a restart there.',
    test: ({ memory_hot_plug }) => when(memory_hot_plug, () => 'Hot-plug of memory is on.'),
  }),
  defineRule({
    id: 'secure-boot',
    severity: 'info',
    title: 'It starts with secure boot',
    remedy: 'Check that the target has the keys its boot loader is signed with.',
    test: ({ secure_boot }) => when(secure_boot, () => 'Secure boot is on.'),
  }),
  defineRule({
    id: 'snapshots-present',
    severity: 'info',
    title: 'It has snapshots',
    remedy: 'They are not carried over: the state of now is. Remove those that nobody needs.',
    test: ({ snapshots }) =>
      when(
        snapshots.length > 0,
        () => `There are ${snapshots.length}, such as "${snapshots[0]?.name.slice(0, 80)}".`,
      ),
  }),
  defineRule({
    id: 'too-many-snapshots',
    severity: 'critical',
    title: 'No further snapshot can be taken',
    remedy: 'Remove snapshots: a chain holds 32 at most, and each copy needs one of its own.',
    test: ({ snapshots }) => when(snapshots.length >= 31, () => `There are ${snapshots.length} snapshots.`),
  }),
  defineRule({
    id: 'needs-consolidation',
    severity: 'warning',
    title: 'Disks need consolidation',
    remedy: 'Consolidate them in the platform: leftovers of snapshots slow every copy down.',
    test: ({ needs_consolidation }) => when(needs_consolidation, () => 'The platform says so.'),
  }),
  defineRule({
    id: 'tracking-off',
    severity: 'critical',
    allowance: 'allow_no_background_import',
    title: 'Changed blocks are not tracked',
    remedy:
      'Use :enable-background-import (it may have to stop the instance once; snapshots are in its way until you say that they may go), or allow_no_background_import for the batch: then it is copied whole while it is off.',
    test: (facts, { tracking }) =>
      // What is copied while it is off needs none.
      when(
        trackingState(facts, tracking) === 'off' && facts.disks.some(isCopiedRunning),
        () => 'Changed-block tracking is off.',
      ),
  }),
  defineRule({
    id: 'tracking-refused',
    severity: 'critical',
    allowance: 'allow_no_background_import',
    title: 'Changed blocks of a disk cannot be read',
    remedy: 'Use :reset-background-import to try again, or allow_no_background_import for the batch.',
    test: (facts, { tracking }) =>
      when(trackingState(facts, tracking) === 'refused', () => {
        const disks = facts.disks
          .filter(({ key }) => tracking[key] === 'refused')
          .map(({ label, key }) => label || key)
        return `Tracking is on, but the platform has none for ${disks.slice(0, 10).join(', ')}.`
      }),
  }),
  defineRule({
    id: 'tracking-unverified',
    severity: 'warning',
    // A wait that ends by itself: no reason to call the instance blocked, but no start either.
    restriction: true,
    allowance: 'allow_no_background_import',
    title: 'Tracking of changed blocks is not verified yet',
    remedy: 'Wait: it is verified before the first copy.',
    test: (facts, { tracking }) =>
      when(
        trackingState(facts, tracking) === 'unverified',
        () => 'Tracking is on; not every disk was tried.',
      ),
  }),
  defineRule({
    id: 'hardware-too-old',
    severity: 'warning',
    title: 'The virtual hardware is too old to track changed blocks',
    remedy: 'Upgrade the virtual hardware to version 7 or later, then switch tracking on.',
    test: ({ hardware_version }) =>
      when(hardwareGeneration(hardware_version) < 7, () => `It has version ${hardware_version}.`),
  }),
]
