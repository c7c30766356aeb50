/// A client of Apple's `verifyReceipt`, which verifies the old receipts of an app's bundle.
///
/// - Important: Apple has deprecated `verifyReceipt`. It has not announced an end, and old apps need it. New apps send
///   signed transactions: see ``SignedDataVerifier``.
///
/// ```swift
/// let client = VerifyReceiptClient(
///     policy: VerifyReceiptPolicy(apps: [StoreApp(bundleID: "com.example.shop")]),
///     secret: SharedSecret(secret), transport: URLSessionTransport())
/// let receipt = try await client.verify(base64)
/// ```
public struct VerifyReceiptClient: Sendable {
    /// The addresses of Apple's servers, or of a simulator.
    public struct Endpoints: Hashable, Sendable {
        /// The address for receipts of the App Store.
        public var production = "https://buy.itunes.apple.com/verifyReceipt"
        /// The address for receipts of the sandbox.
        public var sandbox = "https://sandbox.itunes.apple.com/verifyReceipt"

        /// Creates Apple's addresses.
        public init() {}

        /// Creates other addresses, such as those of a simulator.
        public init(production: String, sandbox: String) {
            self.production = production
            self.sandbox = sandbox
        }
    }

    /// The maximum length of a receipt in Base64.
    public static let maxReceiptLength = 4 * 1024 * 1024
    private static let maxResponseLength = 16 * 1024 * 1024

    private let policy: VerifyReceiptPolicy
    private let secret: SharedSecret?
    private let endpoints: Endpoints
    private let transport: any ReceiptTransport
    private let timeLimit: Duration
    private let sleep: @Sendable (Duration) async throws -> Void

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - policy: The apps and environments whose receipts are accepted, and the repetitions.
    ///   - secret: The shared secret, which receipts with subscriptions need.
    ///   - transport: The network.
    ///   - endpoints: The addresses of the servers.
    ///   - timeLimit: The time for one request.
    ///   - sleep: Waits before a repetition.
    public init(
        policy: VerifyReceiptPolicy, secret: SharedSecret? = nil, transport: any ReceiptTransport,
        endpoints: Endpoints = Endpoints(), timeLimit: Duration = .seconds(30),
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.policy = policy
        self.secret = secret
        self.transport = transport
        self.endpoints = endpoints
        self.timeLimit = timeLimit
        self.sleep = sleep
    }

    /// Verifies a receipt.
    ///
    /// - Parameters:
    ///   - receipt: The receipt in Base64. White space is removed.
    ///   - bundleID: The app from which the receipt came, if that is known: a receipt of another app is refused,
    ///     although that app is accepted as well.
    ///   - excludeOldTransactions: Whether the response has only the latest transaction of each subscription.
    /// - Throws: A refusal. It is retryable if Apple's server was not able to answer.
    public func verify(
        _ receipt: String, of bundleID: String? = nil, excludeOldTransactions: Bool = false
    ) async throws(ReceiptRefusal) -> ClassicReceipt {
        var policy = policy
        if let bundleID { policy.apps.removeAll { !$0.bundleID.utf8.elementsEqual(bundleID.utf8) } }
        let body = try body(for: receipt, excludeOldTransactions: excludeOldTransactions)
        var machine = VerifyReceiptMachine(policy)
        var action = machine.start()
        while true {
            switch action {
            case .accept(let receipt): return receipt
            case .refuse(let refusal): throw refusal
            case .send(let environment, let pause):
                try await wait(pause)
                action = await send(body, to: environment, for: &machine)
            }
        }
    }

    /// Verifies a receipt as it is in the bundle of an app (PKCS#7 in DER).
    public func verify(
        der receipt: [UInt8], of bundleID: String? = nil, excludeOldTransactions: Bool = false
    ) async throws(ReceiptRefusal) -> ClassicReceipt {
        try await verify(
            StrictBase64.encode(receipt), of: bundleID, excludeOldTransactions: excludeOldTransactions)
    }

    private func wait(_ pause: Duration) async throws(ReceiptRefusal) {
        do {
            try Task.checkCancellation()
            if pause > .zero { try await sleep(pause) }
        } catch {
            throw ReceiptRefusal(.serviceUnavailable, "The verification was cancelled before the App Store answered.")
        }
    }

    private func send(
        _ body: [UInt8], to environment: StoreEnvironment, for machine: inout VerifyReceiptMachine
    ) async -> VerifyReceiptMachine.Action {
        let url = environment == .sandbox ? endpoints.sandbox : endpoints.production
        let request = ReceiptRequest(
            url: url, contentType: "application/json", body: body, maxResponseLength: Self.maxResponseLength,
            timeLimit: timeLimit)
        do {
            let response = try await transport.post(request)
            guard response.body.count <= Self.maxResponseLength else {
                return .refuse(ReceiptRefusal(.malformedResponse, "The response of the App Store is too long."))
            }
            return machine.received(response)
        } catch {
            return machine.failed("cannot reach \(url): \(error)")
        }
    }

    private func body(
        for receipt: String, excludeOldTransactions: Bool
    ) throws(ReceiptRefusal) -> [UInt8] {
        guard receipt.utf8.count <= Self.maxReceiptLength else {
            throw ReceiptRefusal(
                .malformedReceipt,
                "The receipt has \(receipt.utf8.count) bytes; at most \(Self.maxReceiptLength) are sent.")
        }
        let text = receipt.utf8.filter { $0 != 0x20 && !(0x09...0x0d).contains($0) }
        guard !text.isEmpty, StrictBase64.decode(text) != nil else {
            throw ReceiptRefusal(.malformedReceipt, "The receipt is not Base64.")
        }
        var body = Array("{\"receipt-data\":\"".utf8) + text + Array("\"".utf8)
        if let secret { body += Array(",\"password\":\"\(Self.escaped(secret.text))\"".utf8) }
        if excludeOldTransactions { body += Array(",\"exclude-old-transactions\":true".utf8) }
        return body + Array("}".utf8)
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case "\u{0}"..."\u{1f}":
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
