import type { BunPlugin } from 'bun'

/**
 * What their libraries import for what we do not use: dockerode speaks ssh and builds images, turndown parses pages that it
 * gets as text and not as a document, the AI SDK has a gateway of its own.
 */
const LEFT_OUT = /^(?:ssh2|@grpc\/grpc-js|@grpc\/proto-loader|protobufjs|@mixmark-io\/domino)$/

/** How the program is bundled, and the libraries that it carries packed. */
export const BUNDLING = {
  minify: true,
  format: 'esm',
  // A map of the sources would be a twelfth of the executable.
  sourcemap: 'none',
  metafile: true,
  define: {
    'process.env.NODE_ENV': '"production"',
    // The folder of this checkout would stand in the executable, where there is no such folder.
    __dirname: '"/"',
    __filename: '"/stead"',
  },
  // mppx would load it for payments inside of MCP, which we do not take.
  external: ['@modelcontextprotocol/sdk'],
} as const satisfies Partial<Bun.BuildConfig>

/** Puts an empty module in the place of each library that is left out. */
export const leaveOut: BunPlugin = {
  name: 'leave-out',
  setup(builder) {
    builder.onResolve({ filter: LEFT_OUT }, ({ path }) => ({ path, namespace: 'left-out' }))
    builder.onLoad({ filter: /.*/, namespace: 'left-out' }, () => ({ contents: 'module.exports = {}', loader: 'js' }))
  },
}
