# capgnn on CPUs: one static program, which needs nothing of a system and no network. docs/guide/install.md shows how to run it.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags='-s -w' -o /capgnn ./cmd/capgnn
RUN mkdir -p -m 1777 /folders/tmp /folders/work

FROM scratch
# Certificates are for `data fetch`.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /folders /
COPY --from=build /capgnn /usr/local/bin/
# Caches and data that are fetched lie below the folder that is mounted, so that the next container finds them.
ENV HOME=/work
WORKDIR /work
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/capgnn"]
CMD ["help"]
