import PushAPI
import PushConfiguration
import PushGateways
import PushModel

/// The credentials of the apps, as `GET /v1/credentials` and the metrics show them.
extension ServedGateways: CredentialSource {
    func credentials() async -> [CredentialAnswer] {
        var answers = [dependencies.serverCertificate.answer].compactMap { $0 }
        for served in apps.values.sorted(by: { $0.app.id.name < $1.app.id.name }) {
            answers.append(await credential(served))
        }
        return answers
    }

    private func credential(_ served: ServedApp) async -> CredentialAnswer {
        // The credential in use may be another one than that of the newest configuration.
        let facts = served.loaded?.gateway.credential
        let source = (served.loaded?.app ?? served.app).credentialSource
        let isUnusable = served.loaded == nil
        var answer = CredentialAnswer(
            app: served.app.id, kind: CredentialAnswer.Kind(source.kind),
            state: isUnusable ? .unusable : served.fault == nil ? .inUse : .kept,
            name: source.keyID ?? facts?.subject ?? source.file, file: source.file)
        answer.keyID = source.keyID
        answer.teamID = source.teamID
        (answer.subject, answer.issuer) = (facts?.subject, facts?.issuer)
        answer.topics = facts?.topics
        answer.fingerprint = facts?.fingerprint
        answer.validFrom = facts?.notBefore
        answer.expiresAt = await expiry(of: served).notAfter
        if answer.expiresAt != nil { answer.renewal = served.app.serviceDescription.renewal }
        if !isUnusable { answer.usedBy = ["gateway"] + (served.poller == nil ? [] : ["feedback"]) }
        answer.readAt = served.loaded?.readAt
        answer.failedAt = served.fault == nil ? nil : served.failedAt
        answer.fault = served.fault
        if answer.fault == nil, case .halted(let halt)? = await served.gateway?.status().state {
            answer.fault = halt.message
        }
        return answer
    }

    /// Returns the facts for the metrics of an app.
    func expiry(of served: ServedApp) async -> AppMetrics.Credential {
        var credential = served.journal.metrics.credential
        // A certificate that had expired before the start was never loaded.
        if credential.notAfter == nil, served.fault != nil, !credential.usesTokens {
            credential.notAfter = await announcedExpiry(of: served.app.id)
        }
        return credential
    }
}

extension CredentialAnswer.Kind {
    fileprivate init(_ kind: CredentialSummary.Kind) {
        switch kind {
        case .providerKey: self = .key
        case .certificate: self = .certificate
        case .serviceAccount: self = .serviceAccount
        case .vapid: self = .vapid
        }
    }
}
