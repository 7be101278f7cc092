import { join } from 'node:path'
import type { BunPlugin } from 'bun'

/** Optional imports of libraries whose features are unused: ssh and image builds of dockerode, text input of turndown. */
const LEFT_OUT = /^(?:ssh2|@grpc\/grpc-js|@grpc\/proto-loader|protobufjs|@mixmark-io\/domino)$/

export const BUNDLING = {
  minify: true,
  format: 'esm',
  // Source maps would enlarge the executable by a twelfth.
  sourcemap: 'none',
  metafile: true,
  define: {
    'process.env.NODE_ENV': '"production"',
    // Without these the path of the checkout would be compiled in.
    __dirname: '"/"',
    __filename: '"/stead"',
  },
  // An optional import of mppx, for payments inside MCP.
  external: ['@modelcontextprotocol/sdk'],
} as const satisfies Partial<Bun.BuildConfig>

/** Replaces each unused optional import with an empty module. */
export const leaveOut: BunPlugin = {
  name: 'leave-out',
  setup(builder) {
    builder.onResolve({ filter: LEFT_OUT }, ({ path }) => ({ path, namespace: 'left-out' }))
    // siwe needs a checksum function from ethers, and viem has one; ethers would add 2 MB.
    builder.onResolve({ filter: /^ethers$/ }, () => ({ path: join(import.meta.dir, 'ethers.ts') }))
    // The PDF parser gives unpdf its copy of PDF.js, which is embedded without bytecode.
    builder.onResolve({ filter: /^unpdf\/pdfjs$/ }, ({ path, importer }) =>
      importer.includes('node_modules') ? { path, namespace: 'left-out' } : undefined,
    )
    builder.onLoad({ filter: /.*/, namespace: 'left-out' }, () => ({ contents: 'module.exports = {}', loader: 'js' }))
  },
}
