# One image for every role: `api`, `worker`, `conductor`, `migrate`. The role is the command.
# There is no build step: Node runs the TypeScript sources as they are.
ARG NODE_IMAGE=docker.io/library/node:24.21-bookworm-slim

FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Optional packages are the embedded Postgres and the compilers of development: an image needs neither.
# No package may run a script of its own in the build.
RUN npm ci --omit=dev --omit=optional --ignore-scripts

FROM ${NODE_IMAGE} AS runtime
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Drover" \
      org.opencontainers.image.description="Moves fleets of virtual machines and never loses one." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# The health port is fixed, so that one check serves every role. The state directory is only for what a
# person runs by hand in the container: a role of the fleet keeps nothing on disk.
ENV NODE_ENV=production \
    DROVER_PORT=7070 \
    DROVER_HEALTH_PORT=7071 \
    DROVER_DATA_DIR=/tmp/drover
WORKDIR /app
COPY LICENSE package.json ./
COPY --from=packages /app/node_modules node_modules
COPY db db
COPY src src
COPY workers workers
# A number, not a name: an orchestrator can then see that it is not root. The code belongs to root.
USER 1000:1000
EXPOSE 7070 7071
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["node", "src/cli/healthcheck.mjs"]
ENTRYPOINT ["node", "src/roles/main.ts"]
CMD ["api"]
