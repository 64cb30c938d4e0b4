import type { DeviceFacts } from '../facts.ts'
import { defineRule, each, type Rule, when } from './rule.ts'

/** A rule for devices of one kind that cannot go along. */
const device = (
  kind: DeviceFacts['kind'],
  connectedOnly: boolean,
  draft: Pick<Rule, 'id' | 'severity' | 'title' | 'remedy'>,
): Rule =>
  defineRule({
    ...draft,
    test: ({ devices }) =>
      each(
        devices,
        (found) => found.kind === kind && (found.connected || !connectedOnly),
        ({ label, connected }) => `${label || kind}${connected ? ' is connected.' : ' is there.'}`,
      ),
  })

export const deviceRules = [
  device('pci-passthrough', false, {
    id: 'pci-passthrough',
    severity: 'critical',
    title: 'A device of the host is passed through',
    remedy: 'Remove it, or waive this and give the target machine its own device.',
  }),
  device('vgpu', false, {
    id: 'vgpu',
    severity: 'critical',
    title: 'A part of a graphics card is attached',
    remedy: 'Remove it, or waive this and give the target machine its own.',
  }),
  device('sriov-nic', false, {
    id: 'sriov',
    severity: 'warning',
    title: 'A network card is a virtual function of the host (SR-IOV)',
    remedy: 'It becomes an ordinary card. Check the drivers of the guest and its throughput.',
  }),
  device('usb', false, {
    id: 'usb',
    severity: 'warning',
    title: 'A USB device or controller is attached',
    remedy: 'A device such as a licence key must be connected to the target by hand.',
  }),
  device('nvdimm', false, {
    id: 'nvdimm',
    severity: 'critical',
    title: 'There is persistent memory (NVDIMM)',
    remedy: 'Its content is not copied: move it to a disk, then remove the device.',
  }),
  device('serial', false, {
    id: 'serial-port',
    severity: 'info',
    title: 'There is a serial port',
    remedy: 'It is not carried over. Connect one to the target if something uses it.',
  }),
  device('parallel', false, {
    id: 'parallel-port',
    severity: 'info',
    title: 'There is a parallel port',
    remedy: 'It is not carried over.',
  }),
  device('cdrom', true, {
    id: 'cdrom-mounted',
    severity: 'warning',
    title: 'A CD or an image is inserted',
    remedy: 'Eject it: it is not carried over, and a guest may wait for it or boot from it.',
  }),
  device('floppy', true, {
    id: 'floppy-mounted',
    severity: 'info',
    title: 'A floppy is inserted',
    remedy: 'Eject it: it is not carried over.',
  }),
  defineRule({
    id: 'tpm',
    severity: 'warning',
    title: 'There is a virtual TPM',
    remedy:
      'The target gets a new, empty TPM: have recovery keys at hand (BitLocker, LUKS), or suspend what is sealed to it.',
    test: ({ tpm, devices }) =>
      when(tpm || devices.some(({ kind }) => kind === 'tpm'), () => 'The instance has a virtual TPM.'),
  }),
  defineRule({
    id: 'encrypted',
    severity: 'critical',
    title: 'The machine is encrypted by the platform',
    remedy: 'Decrypt it, or waive this if its account may read it and the copy is meant to hold plain data.',
    test: ({ encrypted, tpm }) =>
      when(encrypted, () => `Its configuration is encrypted${tpm ? ', as a virtual TPM asks for' : ''}.`),
  }),
]
