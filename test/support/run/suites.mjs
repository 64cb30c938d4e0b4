/** `packages`: what Debian must bring. `limitMs`: a suite that takes longer hangs; several have what they have together. */
export const suites = [
  { name: 'unit', packages: [], limitMs: 300_000 },
  { name: 'api', packages: ['redis-server'], limitMs: 600_000 },
  { name: 'integration', packages: ['redis-server', 'nginx-light'], limitMs: 1_200_000 },
  {
    name: 'contract',
    packages: ['redis-server', 'golang-go', 'golang-github-vmware-govmomi-dev', 'qemu-utils'],
    limitMs: 1_200_000,
  },
  { name: 'crash', packages: ['redis-server'], limitMs: 1_800_000 },
  { name: 'simulation', packages: [], limitMs: 1_200_000 },
  { name: 'browser', packages: ['chromium'], limitMs: 900_000 },
  {
    name: 'soak',
    packages: [
      ...['redis-server', 'podman', 'buildah', 'runc', 'netavark', 'aardvark-dns', 'iptables'],
      ...['docker-compose', 'mmdebstrap', 'catatonit'],
    ],
    limitMs: 7_200_000,
    apart: true,
  },
]
