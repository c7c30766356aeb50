import PushConfiguration
import PushLoop
import PushTransport
import Receipts

/// `carillon receipts verify`: verifies a receipt or signed data in a file. It does not need a running server.
struct ReceiptsVerifyVerb {
    static let verb = Verb(
        name: "receipts verify", summary: "verify a receipt or signed data of the App Store",
        words: [
            Word(
                "FILE",
                about: "a transaction, renewal information, app transaction or notification as signed data (JWS), the "
                    + "body of a notification, or an old receipt (Base64 or DER); - reads standard input")
        ],
        options: [
            Option("config", value: "FILE", about: "the configuration (carillon.json5 here or in /etc/carillon)"),
            Option(
                "bundle-id", value: "ID", about: "accept this app, without a configuration; may repeat",
                mayRepeat: true),
            Option("app-apple-id", value: "N", about: "the Apple id of the app of --bundle-id"),
            Option("roots", value: "FILE", about: "PEM with roots that are trusted besides Apple's"),
            Option("shared-secret-file", value: "FILE", about: "the shared secret, for old receipts"),
            Option(
                "revocation", value: "P", offers: .choice(RevocationPolicy.self),
                about: "require, soft or off: whether Apple's responders are asked"),
            Option("json", about: "print one JSON object"),
        ],
        examples: [
            ("carillon receipts verify transaction.jws", "verify for the apps of the configuration"),
            (
                "carillon receipts verify - --bundle-id com.example.shop --revocation off",
                "verify offline, without a configuration"
            ),
            (
                "curl -sS $URL | carillon receipts verify - --json | jq .claims",
                "print the verified claims"
            ),
        ],
        notes: """
            Signed data is verified on this machine; only the check of revocation uses
            the network. Old receipts are sent to Apple's verifyReceipt, which Apple has
            deprecated: let new versions of an app send signed transactions.
            """,
        exits: [
            (.done, "genuine"), (.failed, "refused"), (.badInput, "the input is malformed"),
            (.tryAgain, "Apple cannot be reached; try again"), (.notPermitted, "the shared secret is wrong"),
            (.configuration, "the configuration is wrong, or lacks the Apple id of the app"),
        ]
    ) { arguments in
        do {
            let verb = ReceiptsVerifyVerb(services: try services(arguments))
            let report = try await verb.report(on: ReceiptInput.read(arguments.word("FILE")))
            Terminal.output.write(arguments.has("json") ? report.json : report.text(on: Terminal.output))
            return report.code
        } catch {
            let failure = Failure(error)
            guard arguments.has("json"), failure.code != .usage else { throw error }
            Terminal.output.write(ReceiptReport.json(failure))
            return failure.code
        }
    }

    private let services: ReceiptServices

    /// Reads the configuration and what the command line changes in it.
    private static func services(_ arguments: Arguments) throws -> ReceiptServices {
        var rules = Configuration.ReceiptRules()
        var apps: [StoreApp] = []
        if arguments.has("bundle-id") {
            guard !arguments.has("config") else {
                throw Failure(.usage, "'--bundle-id' cannot be combined with '--config': both give the apps")
            }
            let number = try arguments.number("app-apple-id", in: 1...999_999_999_999_999)
            let names = arguments.texts("bundle-id")
            guard number == nil || names.count == 1 else {
                throw Failure(.usage, "'--app-apple-id' belongs to one app; give '--bundle-id' once")
            }
            apps = names.map { StoreApp(bundleID: $0, appAppleID: number.map { Int64($0) }) }
        } else {
            guard !arguments.has("app-apple-id") else {
                throw Failure(.usage, "'--app-apple-id' belongs to '--bundle-id', which is not given")
            }
            let configuration = try Failure.converting(advice: "or name an app with --bundle-id ID") {
                () throws(StartError) in
                try Configuration.load(file: arguments.text("config")).parsed.configuration
            }
            (rules, apps) = (configuration.receipts, configuration.storeApps)
        }
        if let file = arguments.text("roots") { rules.roots = file }
        if let file = arguments.text("shared-secret-file") { rules.sharedSecretFile = file }
        if let word = arguments.text("revocation") {
            guard let policy = RevocationPolicy(rawValue: word) else {
                throw Failure(.usage, "'--revocation' must be require, soft or off, not '\(word)'")
            }
            rules.revocation = policy
        }
        return try Failure.converting { () throws(StartError) in try ReceiptServices(rules, apps: apps) }
    }

    private func report(on input: ReceiptInput) async -> ReceiptReport {
        let network = ReceiptNetwork()
        let report: ReceiptReport
        do throws(ReceiptRefusal) {
            let transport = network.transport(services)
            switch input {
            case .signedData(let text):
                let checker = RevocationChecker(policy: services.revocation, transport: transport)
                report = .signedData(try await checker.check(services.verifier.verify(text)))
            case .oldReceipt(let text): report = .oldReceipt(try await services.client(over: transport).verify(text))
            case .oldReceiptInDER(let bytes):
                report = .oldReceipt(try await services.client(over: transport).verify(der: bytes))
            }
        } catch {
            report = .refused(error)
        }
        await network.end()
        return report
    }
}

/// The loop and the threads that requests to Apple need.
private struct ReceiptNetwork {
    private let loop = EventLoop(name: "receipts")
    private let pool = BlockingPool(name: "resolve", threadCount: 2, queueLimit: 16)

    func transport(_ services: ReceiptServices) -> CallTransport {
        CallTransport(on: loop, tls: services.tls, resolver: NameResolver(pool: pool))
    }

    /// Shuts the resources down. It does not wait for a DNS lookup that hangs.
    func end() async {
        await loop.shutDown()
        if pool.load == (0, 0) { await pool.shutDown() }
    }
}
