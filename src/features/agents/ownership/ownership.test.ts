import { expect, test } from 'bun:test'
import type { InstanceLocation } from '../../../adapters/runtimes/process/place.ts'
import { compareOwnership, describeStandby, type OwnershipVerdict } from './ownership.ts'
import type { OwnershipRow } from './tables.ts'

const PLACE: InstanceLocation = { machine: 'machine-1', boot: 'boot-1', path: '/srv/stead', volume: null, inode: '7' }
const HOME: OwnershipRow = { id: 1, ...PLACE, databaseFile: '/srv/stead/stead.db', leftAt: null, ranContainersAt: null }
const VOLUME = '/var/lib/docker/volumes/stead/_data'

type Case = [
  what: string,
  known: Partial<OwnershipRow>,
  here: Partial<InstanceLocation>,
  isGone: boolean,
  verdict: OwnershipVerdict,
]

const CASES: Case[] = [
  ['the same place', {}, {}, false, 'home'],
  ['a machine that was started again', {}, { boot: 'boot-2' }, false, 'home'],
  ['a folder that was replaced in its place, such as by a backup', {}, { inode: '8' }, false, 'home'],
  ['a machine without an id, started again', { machine: null }, { machine: null, boot: 'boot-2' }, false, 'home'],
  ['a renamed folder', {}, { path: '/srv/new' }, true, 'moved'],
  ['a renamed folder, after the machine was started again', {}, { path: '/srv/new', boot: 'boot-2' }, true, 'moved'],
  ['a copy beside the original', {}, { path: '/srv/new', inode: '8' }, false, 'copy'],
  ['a link to the folder of the original', {}, { path: '/srv/new' }, false, 'copy'],
  ['a copy whose original was deleted', {}, { path: '/srv/new', inode: '8' }, true, 'copy'],
  ['another machine', {}, { machine: 'machine-2', boot: 'boot-2' }, true, 'copy'],
  [
    'another machine without an id, at another path',
    { machine: null, boot: null },
    { machine: null, boot: null, path: '/srv/new' },
    true,
    'copy',
  ],
  ['an installation whose agents went over to a copy', { leftAt: new Date(0) }, {}, true, 'copy'],
  ['a container with a new machine id', { volume: VOLUME }, { machine: 'machine-2', volume: VOLUME }, false, 'home'],
  [
    'a container with a new machine id on a machine that was started again',
    { volume: VOLUME },
    { machine: 'machine-2', boot: 'boot-2', volume: VOLUME },
    false,
    'copy',
  ],
  ['a container with a copy of the volume', { volume: VOLUME }, { volume: `${VOLUME}-2`, inode: '8' }, true, 'copy'],
  ['the volume of a container, seen from its host', { volume: VOLUME }, { path: VOLUME }, true, 'copy'],
]

test.each(CASES)('%s', (_what, known, here, isGone, verdict) => {
  expect(compareOwnership({ ...HOME, ...known }, { ...PLACE, ...here }, () => isGone)).toBe(verdict)
})

test('describeStandby names the original and the command', () => {
  const end = 'agents are left alone until stead adopt'
  const copy = { ...PLACE, path: '/srv/new' }
  expect(describeStandby(HOME, copy)).toBe(`this is a copy of the installation at /srv/stead: ${end}`)
  const elsewhere = { ...PLACE, machine: 'machine-2', boot: 'boot-2' }
  expect(describeStandby(HOME, elsewhere)).toContain('at /srv/stead on another machine: ')
  expect(describeStandby({ ...HOME, volume: VOLUME }, copy)).toContain(`at /srv/stead (volume ${VOLUME}): `)
  const left = { ...HOME, path: '/srv/new', leftAt: new Date(0) }
  expect(describeStandby(left, PLACE)).toBe(`the installation at /srv/new took the agents over: ${end}`)
})
