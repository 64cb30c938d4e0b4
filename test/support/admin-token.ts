/** The admin of tests: what an API is started with, and what is sent to it. */
export const adminToken = 'drv_7e57e700_the-admin-token-of-tests'
export const adminEnv = { DROVER_ADMIN_TOKEN: adminToken } as const
export const asAdmin = { authorization: `Bearer ${adminToken}` } as const
