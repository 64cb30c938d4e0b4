import { isHostName } from '../overrides.ts'
import { defineRule, when } from './rule.ts'

const defaultNames =
  /^(localhost(\.localdomain)?|localhost[46](\.localdomain[46])?|debian|ubuntu|centos|win-[a-z0-9]{11})$/i

export const guestRules = [
  defineRule({
    id: 'unknown-os',
    severity: 'critical',
    allowance: 'allow_unknown_os',
    title: 'The operating system is not known',
    remedy: 'Set os_type or distribution as an override, or allow_unknown_os for the batch.',
    test: ({ os_type, distribution, os, os_description, os_template }, { overrides }) =>
      when(
        os_type === 'linux' &&
          distribution === 'other' &&
          overrides.os_type === undefined &&
          overrides.distribution === undefined,
        () =>
          `The platform says "${os_description || os || os_template}", which names no known distribution.`,
      ),
  }),
  defineRule({
    id: 'unknown-windows',
    severity: 'critical',
    allowance: 'allow_unknown_os',
    title: 'The release of Windows is not known',
    remedy: 'Set distribution_version as an override: drivers are chosen by it.',
    test: ({ os_type, distribution_version, os, os_description, os_template }) =>
      when(
        os_type === 'windows' && distribution_version === '',
        () => `The platform says "${os_description || os || os_template}".`,
      ),
  }),
  defineRule({
    id: 'architecture-unknown',
    severity: 'warning',
    title: 'The processor architecture is not known',
    remedy: 'Set architecture as an override; x86_64 is assumed.',
    test: ({ architecture }) => when(architecture === '', () => 'The platform names no architecture.'),
  }),
  defineRule({
    id: 'architecture-unsupported',
    severity: 'critical',
    waivable: false,
    title: 'The processor architecture cannot be run by any target',
    remedy: 'Leave it out, or correct it with an override if the platform is wrong.',
    test: ({ architecture }) =>
      when(
        architecture !== '' && !/^(x86_64|amd64|i[3-6]86|aarch64|arm64)$/i.test(architecture),
        () => `It is ${architecture}.`,
      ),
  }),
  defineRule({
    id: 'name-invalid',
    severity: 'critical',
    title: 'The name cannot be the name of a host',
    remedy: 'Set another name as an override: 1 to 63 letters, digits and inner dashes, not only digits.',
    // No target takes such a name, whoever signs for it.
    waivable: false,
    test: ({ name, target_name }) =>
      when(
        !isHostName(target_name),
        () => `"${name.slice(0, 100)}" would become "${target_name.slice(0, 100)}".`,
      ),
  }),
  defineRule({
    id: 'name-changes',
    severity: 'info',
    title: 'The name changes',
    remedy: 'Set a name as an override to choose it yourself.',
    test: ({ name, target_name }) =>
      when(name !== target_name && isHostName(target_name), () => `"${name}" becomes "${target_name}".`),
  }),
  defineRule({
    id: 'name-clash',
    severity: 'warning',
    title: 'Another instance would have the same name',
    remedy: 'Set another name as an override, unless they go to different projects.',
    test: ({ target_name }, { fleet }) => {
      const count = fleet.name.get(target_name.toLowerCase()) ?? 0
      return when(
        target_name !== '' && count > 1,
        () => `${count - 1} more would be called "${target_name}".`,
      )
    },
  }),
  defineRule({
    id: 'uuid-clash',
    severity: 'critical',
    title: 'Another instance has the same UUID',
    remedy: 'Give the copy its own UUID in the platform, then sync.',
    test: ({ uuid }, { fleet }) => {
      const count = fleet.uuid.get(uuid) ?? 0
      return when(uuid !== '' && count > 1, () => `${count - 1} more have ${uuid}.`)
    },
  }),
  defineRule({
    id: 'default-host-name',
    severity: 'warning',
    title: 'The guest has a host name that an installer gave it',
    remedy: 'Give it a name of its own, so that it can be told from others after the migration.',
    test: ({ guest }) =>
      when(defaultNames.test(guest.hostname), () => `It calls itself "${guest.hostname}".`),
  }),
  defineRule({
    id: 'host-name-unknown',
    severity: 'info',
    title: 'The host name of the guest is not known',
    remedy: 'Start the guest agent, then sync.',
    test: ({ guest }) => when(guest.hostname === '', () => 'No guest agent has told it.'),
  }),
  defineRule({
    id: 'agent-missing',
    severity: 'warning',
    title: 'There is no guest agent',
    remedy: "Install the platform's guest tools: without them a shutdown is hard and addresses stay unknown.",
    test: ({ guest }) => when(guest.agent === 'not-installed', () => 'The guest tools are not installed.'),
  }),
  defineRule({
    id: 'agent-not-running',
    severity: 'warning',
    title: 'The guest agent does not run',
    remedy: 'Start it: without it a shutdown is hard and addresses stay unknown.',
    test: ({ guest, running }) =>
      when(running && guest.agent === 'not-running', () => 'The machine runs, its guest tools do not.'),
  }),
]
