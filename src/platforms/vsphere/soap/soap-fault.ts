import { child, textOf, type XmlNode } from '../../../xml/xml-node.ts'
import { type Failure, type PlatformCode, PlatformError } from '../../ports/platform-error.ts'

/** What vSphere says went wrong: a fault of a call, of a task, or of one property. */
export interface VsphereFault {
  /** `InvalidPowerState`; empty when there is none. */
  readonly type: string
  readonly message: string
}

/** The fault in a SOAP answer. */
export const soapFault = (fault: XmlNode): VsphereFault => {
  const thrown = child(fault, 'detail')?.children[0]
  return {
    type: thrown ? thrown.xsiType || thrown.name.replace(/Fault$/, '') : '',
    message: textOf(fault, 'faultstring'),
  }
}

/** The fault of a task (`info.error`) or of a property that could not be read: a LocalizedMethodFault. */
export const localizedFault = (node: XmlNode): VsphereFault => ({
  type: child(node, 'fault')?.xsiType ?? '',
  message: textOf(node, 'localizedMessage'),
})

interface Meaning {
  readonly code: PlatformCode
  readonly failure: Failure
  readonly remedy: string
  readonly field?: string
}

/** `secrets` never leave in a message, even if the platform repeats them. */
export const faultError = (
  fault: VsphereFault,
  context: { readonly host: string; readonly method: string; readonly secrets?: readonly string[] },
): PlatformError => {
  const meaning = meanings.get(fault.type) ?? unknownFault
  const said = cleaned(fault.message, context.secrets ?? [])
  const type = /^\w{1,100}$/.test(fault.type) ? fault.type : ''
  const what = type === '' ? 'a fault without a type' : type
  return new PlatformError({
    ...meaning,
    message: `${context.host} answered ${context.method} with ${what}${said === '' ? '.' : `: ${said}`}`,
    detail: { host: context.host, method: context.method, fault: type },
  })
}

const longestMessage = 300
/** Of what is looked through for secrets. */
const longestFault = 8_192

/** One line, of bounded length, without what must stay secret. */
const cleaned = (message: string, secrets: readonly string[]): string => {
  const isCut = message.length > longestFault
  let text = isCut ? message.slice(0, longestFault) : message
  for (const secret of secrets) if (secret !== '') text = text.replaceAll(secret, '***')
  // Half a secret at the cut is one, too.
  if (isCut) text = text.slice(0, -Math.max(1, ...secrets.map((secret) => secret.length)))
  // What lives in a session alone has its key in its name.
  text = text.replaceAll(/session\[[^\]]*\]\S*/g, 'session[***]')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  const line = text.replaceAll(/[\u0000-\u001f\u007f\s]+/g, ' ').trim()
  return line.length > longestMessage ? `${line.slice(0, longestMessage)}…` : line
}

const unknownFault: Meaning = {
  code: 'platform-fault',
  failure: 'unknown',
  remedy: 'It is tried again. When it stays so, look for this time in the events and tasks of the platform.',
}

const table: readonly (readonly [Meaning, readonly string[]])[] = [
  [
    {
      code: 'platform-authentication',
      failure: 'refused',
      remedy: 'Correct the user name or the password. No new try is made with the refused ones for a while.',
      field: 'password',
    },
    ['InvalidLogin', 'PasswordExpired', 'NoClientCertificate'],
  ],
  [
    {
      code: 'platform-permission',
      failure: 'refused',
      remedy: 'Give the account the privileges that the vSphere page of the manual lists.',
      field: 'username',
    },
    ['NoPermission', 'RestrictedByAdministrator', 'HostAccessRestrictedToManagementServer'],
  ],
  [
    {
      code: 'platform-session-lost',
      failure: 'refused',
      remedy: 'Nothing to do: a new session is opened.',
    },
    ['NotAuthenticated'],
  ],
  [
    {
      code: 'platform-absent',
      failure: 'absent',
      remedy: 'It was removed from the platform. Sync the inventory to see what is there now.',
    },
    ['ManagedObjectNotFound', 'NotFound', 'FileNotFound'],
  ],
  [
    {
      code: 'platform-wrong-state',
      failure: 'refused',
      remedy: 'Look at the state that it is in; what was asked for does not fit that state.',
    },
    [
      ...['InvalidPowerState', 'InvalidState', 'InvalidVmState', 'InvalidHostState', 'InvalidSnapshotFormat'],
      ...['InvalidDatastoreState', 'InvalidHostConnectionState', 'SnapshotNoChange', 'CannotAccessVmDevice'],
      ...['SnapshotDisabled', 'SnapshotLocked', 'MethodDisabled', 'InvalidController'],
    ],
  ],
  [
    { code: 'platform-busy', failure: 'refused', remedy: 'It is tried again once the platform is free.' },
    ['TaskInProgress', 'ConcurrentAccess', 'ResourceInUse', 'FileLocked', 'VmConfigFileLocked'],
  ],
  [
    {
      code: 'platform-name-taken',
      failure: 'refused',
      remedy: 'Choose another name, or rename what has this name now.',
    },
    ['DuplicateName', 'AlreadyExists', 'FileAlreadyExists'],
  ],
  [
    {
      code: 'platform-unsupported',
      failure: 'unsupported',
      remedy: 'This version or edition of the platform cannot do it. Choose another way.',
    },
    ['MethodNotFound', 'NotSupported', 'NotImplemented', 'UnsupportedVimApiVersion'],
  ],
  [
    {
      code: 'platform-no-capacity',
      failure: 'refused',
      remedy: 'Free or add what is missing: space, memory, processors, or licences.',
    },
    [
      ...['InsufficientResourcesFault', 'InsufficientCpuResourcesFault', 'InsufficientMemoryResourcesFault'],
      ...['InsufficientHostCapacityFault', 'InsufficientHostCpuCapacityFault', 'NoDiskSpace', 'DiskNotFree'],
      ...['InsufficientHostMemoryCapacityFault', 'InsufficientStorageSpace', 'InsufficientStorageIops'],
      ...['InsufficientFailoverResourcesFault', 'NoCompatibleHost', 'NotEnoughLicenses', 'NotEnoughCpus'],
      ...['InsufficientStandbyResource', 'NumVirtualCpusExceedsLimit', 'VmLimitLicense', 'FileTooLarge'],
    ],
  ],
  [
    {
      code: 'platform-unreachable',
      failure: 'unknown',
      remedy: 'The platform does not reach one of its own hosts. Look at the state of that host.',
    },
    ['HostCommunication', 'HostNotConnected', 'HostNotReachable', 'HostConnectFault', 'NoHost'],
  ],
  [
    {
      code: 'platform-cursor-lost',
      failure: 'refused',
      remedy: 'Nothing to do: everything is read once more.',
    },
    ['InvalidCollectorVersion'],
  ],
  [
    {
      code: 'platform-refused',
      failure: 'refused',
      remedy: 'Read the reason in the message; the events of the platform at this time may tell more.',
    },
    [
      ...[
        'InvalidArgument',
        'InvalidRequest',
        'InvalidType',
        'InvalidProperty',
        'InvalidName',
        'SecurityError',
      ],
      ...[
        'ToolsUnavailable',
        'VmToolsUpgradeFault',
        'InvalidDeviceSpec',
        'InvalidVmConfig',
        'InvalidDatastore',
      ],
      ...[
        'InvalidDatastorePath',
        'InvalidDeviceBacking',
        'InvalidDiskFormat',
        'InvalidFolder',
        'FileNameTooLong',
      ],
      ...['ApplicationQuiesceFault', 'FilesystemQuiesceFault', 'QuestionPending'],
      ...['LicenseRestricted', 'RestrictedVersion', 'InvalidLocale', 'DisallowedOperationOnFailoverHost'],
    ],
  ],
]

const meanings: ReadonlyMap<string, Meaning> = new Map(
  table.flatMap(([meaning, types]) => types.map((type) => [type, meaning] as const)),
)
