import { ComponentScope, ComponentType, HashAlgorithm } from '@cyclonedx/cyclonedx-library/Enums'
import {
  Bom,
  Component,
  type License,
  LicenseExpression,
  NamedLicense,
  SpdxLicense,
} from '@cyclonedx/cyclonedx-library/Models'
import { JSON as Json, JsonSerializer } from '@cyclonedx/cyclonedx-library/Serialize'
import { fixupSpdxId } from '@cyclonedx/cyclonedx-library/SPDX'
import { Spec1dot6 } from '@cyclonedx/cyclonedx-library/Spec'
import type { Package } from './packages.ts'

/**
 * Creates the software bill of materials in CycloneDX 1.6: the program, Bun, and each package in the executable or the
 * dashboard. It has no time and no serial number, so that builds are reproducible.
 */
export function writeBillOfMaterials(program: Package, packages: readonly Package[], bunVersion: string): string {
  const bom = new Bom()
  bom.metadata.component = toComponent(program, ComponentType.Application)
  const bun = { name: 'bun', version: bunVersion, license: 'MIT', integrity: null }
  for (const component of [toComponent(bun, ComponentType.Platform), ...packages.map((one) => toComponent(one))]) {
    bom.components.add(component)
    bom.metadata.component.dependencies.add(component.bomRef)
  }
  const serializer = new JsonSerializer(new Json.Normalize.Factory(Spec1dot6))
  return `${serializer.serialize(bom, { sortLists: true, space: 2 })}\n`
}

function toComponent({ name, version, license, integrity }: Package, type = ComponentType.Library): Component {
  const [, group, rest = name] = /^(@[^/]+)\/(.+)$/.exec(name) ?? []
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  const component = new Component(type, rest, { version, scope: ComponentScope.Required, bomRef: purl, purl })
  if (group !== undefined) component.group = group
  if (license !== undefined) component.licenses.add(toLicense(license))
  if (integrity?.startsWith('sha512-'))
    component.hashes.set(HashAlgorithm['SHA-512'], Buffer.from(integrity.slice(7), 'base64').toString('hex'))
  return component
}

function toLicense(text: string): License {
  const id = fixupSpdxId(text)
  if (id !== undefined) return new SpdxLicense(id)
  return / (?:OR|AND|WITH) /.test(text) ? new LicenseExpression(text) : new NamedLicense(text)
}
