import { describe } from 'vitest'
import type { Capability } from '../../src/platforms/ports/ports.ts'
import type { NewImage } from '../../src/platforms/ports/templates.ts'
import { testChangedBlocks, testReading, testWriting } from './platform-suite/disks.ts'
import { testGaps } from './platform-suite/gaps.ts'
import { testIdentity } from './platform-suite/identity.ts'
import { testDeltas, testInventory, testSameObject } from './platform-suite/inventory.ts'
import { testLiveMove } from './platform-suite/live-move.ts'
import {
  testClone,
  testCreate,
  testOwnership,
  testReconfigure,
  testRename,
  testSnapshots,
} from './platform-suite/machines.ts'
import { testGuestShutdown, testPower, testSuspend } from './platform-suite/power.ts'
import { testGuest, testHibernate, testPorts } from './platform-suite/running.ts'
import { testImport, testTemplates } from './platform-suite/templates.ts'
import type { PlatformUnderTest } from './platform-suite/world.ts'

/** What each capability promises. `testGaps` asks of those that are missing that they are refused. */
const suites: Readonly<Record<Exclude<Capability, 'import-image'>, (world: PlatformUnderTest) => void>> = {
  inventory: testInventory,
  'inventory-delta': testDeltas,
  power: testPower,
  'guest-shutdown': testGuestShutdown,
  suspend: testSuspend,
  create: testCreate,
  rename: testRename,
  reconfigure: testReconfigure,
  clone: testClone,
  snapshots: testSnapshots,
  'ownership-tags': testOwnership,
  'read-disks': testReading,
  'write-disks': testWriting,
  'changed-blocks': testChangedBlocks,
  templates: testTemplates,
  hibernate: testHibernate,
  'live-move': testLiveMove,
  'guest-facts': testGuest,
  'port-probe': testPorts,
}

const isShown = ({ declares, notSimulated = [] }: PlatformUnderTest, capability: Capability): boolean =>
  declares.includes(capability) && !notSimulated.includes(capability)

/**
 * The one contract suite: everything that the rest of Drover relies on, of any platform. `newImage` makes an
 * image that this platform can import, each under a name and an owner of its own.
 */
export const describePlatform = (
  name: string,
  world: PlatformUnderTest & { readonly newImage?: () => NewImage },
): void => {
  describe(name, () => {
    describe('as any platform', () => testIdentity(world))
    describe('at work', () => testSameObject(world))
    for (const [capability, suite] of Object.entries(suites))
      if (isShown(world, capability as Capability)) describe(capability, () => suite(world))
    if (world.declares.includes('import-image')) {
      const { newImage } = world
      if (!newImage) throw new Error(`${name} declares "import-image" and gives no image to import.`)
      describe('import-image', () => testImport(world, newImage))
    }
    describe('gaps', () => testGaps(world))
  })
}
