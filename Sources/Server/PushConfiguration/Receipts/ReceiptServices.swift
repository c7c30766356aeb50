import APNs
import PushGateways
import PushLoop
package import PushTransport
package import Receipts

/// What the configuration says about receipts, ready for use: the files are read. Reading blocks.
package struct ReceiptServices: Sendable {
    /// The verifier of signed data.
    package let verifier: SignedDataVerifier
    /// The policy for the check of revocation.
    package let revocation: RevocationPolicy
    /// The rules for old receipts.
    package let classic: VerifyReceiptPolicy
    private let secret: SharedSecret?
    private let endpoints: VerifyReceiptClient.Endpoints
    /// The TLS context for the servers that verify old receipts.
    package let tls: TLSContext

    /// Reads the files.
    ///
    /// - Throws: a ``StartError`` that names the setting.
    package init(_ configuration: Configuration, contexts: TLSContexts) throws(StartError) {
        try self.init(configuration.receipts, apps: configuration.storeApps, contexts: contexts)
    }

    /// Reads the files of rules for apps that need not be in a configuration.
    package init(
        _ rules: Configuration.ReceiptRules, apps: [StoreApp], contexts: TLSContexts = TLSContexts()
    ) throws(StartError) {
        let environments = Set(rules.environments.map(\.store))
        verifier = SignedDataVerifier(apps: apps, environments: environments, roots: try Self.roots(rules.roots))
        revocation = rules.revocation
        classic = VerifyReceiptPolicy(apps: apps, environments: environments)
        do {
            secret = try CredentialFiles.password(in: rules.sharedSecretFile).map { SharedSecret($0) }
        } catch {
            throw StartError(.configuration, "receipts.shared_secret_file cannot be used: \(error)")
        }
        endpoints = VerifyReceiptClient.Endpoints(production: rules.verify.production, sandbox: rules.verify.sandbox)
        do {
            tls = try contexts.client(rules.verify.trust, alpn: [])
        } catch {
            throw StartError(.configuration, "receipts.verify.trust cannot be used: \(error)")
        }
    }

    /// Returns the client that sends old receipts to Apple's server.
    package func client(over transport: any ReceiptTransport) -> VerifyReceiptClient {
        VerifyReceiptClient(policy: classic, secret: secret, transport: transport, endpoints: endpoints)
    }

    private static func roots(_ file: String?) throws(StartError) -> TrustedRoots {
        guard let file else { return .apple }
        do {
            return try TrustedRoots(der: PEMSource.file(file).certificatesInDER(), includingApple: true)
        } catch {
            throw StartError(.configuration, "receipts.roots cannot be used: \(error)")
        }
    }
}

extension Configuration {
    /// The apps whose receipts are accepted: one for each topic.
    package var storeApps: [StoreApp] {
        var numbers: [String: Int64?] = [:]
        for apns in apps.compactMap(\.apns) {
            let number = apns.appAppleID.map { Int64($0) }
            numbers[apns.topic.text] = (numbers[apns.topic.text] ?? nil) ?? number
        }
        return numbers.sorted { $0.key < $1.key }.map { StoreApp(bundleID: $0.key, appAppleID: $0.value) }
    }
}
