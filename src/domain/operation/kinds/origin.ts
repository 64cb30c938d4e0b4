/**
 * Where a machine of a target comes from. `migrated`: a verified copy of ours. `copy`: a copy of ours that was not
 * verified, so its source is still the machine that counts. `adopted`: it was there.
 */
export const machineOrigins = ['migrated', 'copy', 'adopted'] as const
export type MachineOrigin = (typeof machineOrigins)[number]
