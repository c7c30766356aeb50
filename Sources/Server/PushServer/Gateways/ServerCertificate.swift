import PushAPI
import PushConfiguration
import PushLoop
import PushModel
import PushTransport

/// The certificate of `http.tls` in use: its end is watched, logged and shown like those of the apps.
final class ServerCertificate: Sendable {
    struct Files: Sendable {
        let context: TLSContext
        let certificate: CertificateInfo
        let file: String
    }

    private struct State {
        var files: Files?
        var readAt: WallTime?
        var fault: String?
        var failedAt: WallTime?
    }

    private let state = Locked(State())
    private let expiry: CredentialExpiry
    private let log: Logger

    init(watchedBy expiry: CredentialExpiry, log: Logger) {
        self.expiry = expiry
        self.log = log
    }

    /// The end of the certificate in use; nil if there is none.
    var notAfter: WallTime? { state.withLock { $0.files?.certificate.notAfter } }

    /// Reads the files, and returns the context that is made from them. If they cannot be used, the certificate in use
    /// stays.
    func read(_ tls: Configuration.HTTP.TLS, on pool: BlockingPool) async throws(StartError) -> TLSContext {
        do {
            let files = try await pool.run {
                let identity = try tls.identity()
                return Files(
                    context: try tls.context(identity), certificate: identity.certificate, file: tls.certificate)
            }
            state.withLock { $0 = State(files: files, readAt: .current()) }
            watch(files.certificate.notAfter)
            return files.context
        } catch {
            let fault = "http.tls cannot be used: \(error)"
            state.withLock { ($0.fault, $0.failedAt) = (fault, .current()) }
            throw StartError(.configuration, fault)
        }
    }

    private func watch(_ end: WallTime) {
        expiry.watchServer(notAfter: end)
        expiry.announceDue()
        guard end <= .current() else { return }
        log.error(
            """
            the certificate of http.tls has expired: clients reject the HTTP port; replace its file, then run \
            'carillon reload'
            """, [.event: "credential.failed", .expires: end])
    }

    /// The certificate for `GET /v1/credentials`.
    var answer: CredentialAnswer? {
        state.withLock { state in
            guard let files = state.files else { return nil }
            let info = files.certificate
            var answer = CredentialAnswer(
                app: nil, kind: .certificate, state: state.fault == nil ? .inUse : .kept, name: info.subject,
                file: files.file)
            (answer.subject, answer.issuer) = (info.subject, info.issuer)
            answer.fingerprint = info.fingerprint.hex
            (answer.validFrom, answer.expiresAt) = (info.notBefore, info.notAfter)
            answer.usedBy = ["http"]
            (answer.readAt, answer.failedAt, answer.fault) = (state.readAt, state.failedAt, state.fault)
            return answer
        }
    }
}
