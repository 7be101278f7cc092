import type { BunPlugin } from 'bun'

/**
 * Turns off the `new Function` of zod, which the content security policy forbids. It is done in zod’s own module
 * because a shared chunk builds schemas before the first line of `web/main.tsx` runs.
 */
export const zodNoEval: BunPlugin = {
  name: 'zod-no-eval',
  setup(build) {
    build.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]core[\\/]core\.js$/ }, async ({ path }) => ({
      contents: `${await Bun.file(path).text()}\nglobalConfig.jitless = true\n`,
      loader: 'js',
    }))
  },
}
