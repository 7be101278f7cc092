import { expect, test } from 'bun:test'
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { tempFolder } from '../../../../tests/harness/temp-folder.ts'
import { findInstance, findVolume, parseMacId, readInstanceLocation } from './place.ts'

const MOUNTS = `22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 0:52 / / rw,relatime - overlay overlay rw
30 27 8:1 /var/lib/docker/volumes/stead/_data /data rw,relatime - ext4 /dev/sda1 rw
31 30 8:1 /srv/agents /data/agents rw,relatime - ext4 /dev/sda1 rw
32 27 8:17 / /mnt/two\\040words rw,relatime - ext4 /dev/sdb1 rw`

test('readInstanceLocation returns hashed machine id, path and inode', () => {
  using folder = tempFolder()
  const files = {
    machineIds: [folder.file('missing'), folder.file('machine-id')],
    bootId: folder.file('boot-id'),
    mounts: folder.file('mounts'),
    containerMarks: [folder.file('mark')],
  }
  writeFileSync(folder.file('machine-id'), '3d1219c7c4c5404aaa1f6d2a48adfda4\n')
  mkdirSync(folder.file('data'))
  symlinkSync(folder.file('data'), folder.file('link'))
  const place = readInstanceLocation(folder.file('link'), files)
  expect(place).toEqual({
    machine: expect.stringMatching(/^[0-9a-f]{64}$/),
    boot: null,
    path: folder.file('data'),
    volume: null,
    inode: expect.stringMatching(/^\d+$/),
  })
  renameSync(folder.file('data'), folder.file('renamed'))
  expect(readInstanceLocation(folder.file('renamed'), files)).toEqual({ ...place, path: folder.file('renamed') })

  writeFileSync(folder.file('boot-id'), 'one')
  const first = readInstanceLocation(folder.file('renamed'), files).boot
  writeFileSync(folder.file('boot-id'), 'two')
  expect(readInstanceLocation(folder.file('renamed'), files).boot).not.toBe(first)

  for (const nothing of ['', 'uninitialized\n']) {
    writeFileSync(folder.file('machine-id'), nothing)
    expect(readInstanceLocation(folder.file('renamed'), files).machine).toBeNull()
  }

  writeFileSync(folder.file('mark'), '')
  writeFileSync(folder.file('mounts'), `30 27 8:1 /srv/volume ${folder.path} rw - ext4 /dev/sda1 rw`)
  expect(readInstanceLocation(folder.file('renamed'), files).volume).toBe('/srv/volume/renamed')
})

test.each([
  ['/data', '/var/lib/docker/volumes/stead/_data'],
  ['/data/stead', '/var/lib/docker/volumes/stead/_data/stead'],
  ['/data/agents', '/srv/agents'],
  ['/database', null],
  ['/srv/stead', null],
  ['/mnt/two words/stead', '/stead'],
])('findVolume maps %s when Stead runs in a container to %p of the host', (path, volume) => {
  expect(findVolume(path, MOUNTS)).toBe(volume)
})

test('parseMacId returns the id of a Mac', () => {
  const text = `+-o J314sAP  <class IOPlatformExpertDevice, id 0x100000227, registered, matched, active>
    {
      "IOPlatformSerialNumber" = "C02XXXXXXXXX"
      "IOPlatformUUID" = "564D3A4B-1111-2222-3333-444455556666"
    }`
  expect(parseMacId(text)).toBe('564D3A4B-1111-2222-3333-444455556666')
  expect(parseMacId('')).toBeNull()
})

test('findInstance returns the id when another installation has the folder', () => {
  using folder = tempFolder()
  expect(findInstance(folder.path)).toEqual({ id: null })
  writeFileSync(folder.file('instance.id'), 'abc\n')
  expect(findInstance(folder.path)).toEqual({ id: 'abc' })
  expect(findInstance(folder.file('missing'))).toEqual({ id: null })
  expect(findInstance(folder.file('instance.id/below'))).toEqual({ id: null })
})
