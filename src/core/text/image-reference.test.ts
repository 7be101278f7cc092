import { expect, test } from 'bun:test'
import { toRepository } from './names.ts'

test.each([
  ['stead-agent', 'docker.io/library/stead-agent'],
  ['stead-agent:1.2.3', 'docker.io/library/stead-agent'],
  [`stead-agent@sha256:${'a'.repeat(64)}`, 'docker.io/library/stead-agent'],
  [`stead-agent:1@sha256:${'a'.repeat(64)}`, 'docker.io/library/stead-agent'],
  ['library/stead-agent', 'docker.io/library/stead-agent'],
  ['docker.io/stead-agent', 'docker.io/library/stead-agent'],
  ['index.docker.io/library/stead-agent:2', 'docker.io/library/stead-agent'],
  ['acme/stead-agent:2', 'docker.io/acme/stead-agent'],
  ['docker.io/acme/stead-agent', 'docker.io/acme/stead-agent'],
  ['ghcr.io/acme/stead-agent:2', 'ghcr.io/acme/stead-agent'],
  ['ghcr.io/stead-agent', 'ghcr.io/stead-agent'],
  ['localhost/stead-agent', 'localhost/stead-agent'],
  ['registry:5000/stead-agent', 'registry:5000/stead-agent'],
  ['registry:5000/stead-agent:1', 'registry:5000/stead-agent'],
  // An engine reads a part with capitals as a registry, because no path has any.
  ['Registry/stead-agent', 'Registry/stead-agent'],
])('toRepository, when given %p, returns %p', (reference, repository) => {
  expect(toRepository(reference)).toBe(repository)
})
