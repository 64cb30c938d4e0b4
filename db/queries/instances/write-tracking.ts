import type { Tx } from '../../client.ts'

/** What was found out about the tracking of an instance's disks. */
export const writeTracking = async (
  tx: Tx,
  instanceId: string,
  tracking: Readonly<Record<string, string>>,
): Promise<void> => {
  await tx`
    update instance set tracking = ${JSON.stringify(tracking)}::text::jsonb where id = ${instanceId}::uuid`
}
