/**
 * The container image of a manager: Node with the libraries that it links to, the package, and the operators of a project.
 * Nothing else is in it, not even a shell: what a Pod does not need, an intruder cannot use.
 */

/** A user that no file belongs to. */
export const imageUser = 65_532

/** The working directory: `from` of the configuration is relative to it. */
export const imageFolder = '/app'

/** The version of Node, which a checkout is tested with. */
export const imageNode = '26.10.0'

const entry = 'node_modules/@muster-dev/muster/bin/muster'

/** Without audits and messages: a build has no reader. */
const quietly = '--omit=dev --no-audit --no-fund --no-update-notifier'

/** For the manager without operators: the build context is a checkout. */
export function managerContainerfile(): string {
  return containerfile(
    'muster-dev/muster',
    `FROM \${NODE_IMAGE} AS package
WORKDIR /src
COPY . .
RUN mkdir /package && npm pack --pack-destination /package

FROM \${NODE_IMAGE} AS build
WORKDIR ${imageFolder}
COPY --from=package /package/ /package/
RUN npm install ${quietly} /package/*.tgz`,
  )
}

/** For a project with operators: the build context is its folder. */
export function projectContainerfile(name: string): string {
  return containerfile(
    name,
    `FROM \${NODE_IMAGE} AS build
WORKDIR ${imageFolder}
COPY . .
RUN npm ci ${quietly}`,
  )
}

/** What does not belong into an image, in the format of `.dockerignore`, which all builders read. */
export const ignoredByImages: readonly string[] = [
  '.git',
  '.muster',
  'Containerfile',
  'deploy',
  'dist',
  'node_modules',
  'runtime/node_modules',
  'test-output',
]

/** The files of the image are collected in /image. */
function containerfile(name: string, build: string): string {
  return `# The image of ${name}: Node, the libraries that it links to, and ${imageFolder}. No shell, no package manager, no root.
#
#     buildah build --tag ${name} .        # or podman, or docker
#     podman run --read-only --tmpfs /tmp ${name} version
#
# NODE_IMAGE is any image with Node, npm and a shell. Name it by its digest where builds have to be repeatable.
ARG NODE_IMAGE=node:${imageNode}-bookworm-slim

${build}
RUN mkdir -p /image/tmp /image/etc /image/usr/local/bin ${imageFolder}/.muster \\
 && chmod 1777 /image/tmp ${imageFolder}/.muster \\
 && cp "$(command -v node)" /image/usr/local/bin/node \\
 && ldd /image/usr/local/bin/node | grep -o '/[^ ]*' | xargs cp --parents --dereference --target-directory=/image \\
 && printf '#!/usr/local/bin/node\\nrequire("${imageFolder}/${entry}")\\n' >/image/usr/local/bin/muster \\
 && chmod 755 /image/usr/local/bin/muster \\
 && echo 'muster:x:${imageUser}:${imageUser}::${imageFolder}:/nonexistent' >/image/etc/passwd \\
 && cp -a ${imageFolder} /image${imageFolder}

FROM scratch
COPY --from=build /image/ /
WORKDIR ${imageFolder}
# Two arenas of the allocator instead of eight per core: a tenth less memory, at the same speed.
ENV NODE_ENV=production HOME=${imageFolder} MALLOC_ARENA_MAX=2
USER ${imageUser}:${imageUser}
ENTRYPOINT ["/usr/local/bin/node", "--max-semi-space-size=4", "${entry}"]
CMD ["run"]
`
}
