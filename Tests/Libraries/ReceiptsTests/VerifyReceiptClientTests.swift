import PushLoop
import Receipts
import Testing

@Suite struct VerifyReceiptClientTests {
    /// Apple's servers, which answer from a script and note the requests.
    private final class Servers: ReceiptTransport {
        let requests = Locked<[(url: String, body: String)]>([])
        private let answers: Locked<[String]>

        init(_ answers: [String]) {
            self.answers = Locked(answers.reversed())
        }

        struct Unreachable: Error {}

        func post(_ request: ReceiptRequest) async throws -> ReceiptResponse {
            requests.withLock { $0.append((request.url, String(decoding: request.body, as: UTF8.self))) }
            #expect("\(request)".contains("s3same") == false)
            var shown = ""
            dump(request, to: &shown)
            #expect(!shown.contains("s3same"))
            guard let answer = answers.withLock({ $0.popLast() }) else { throw Unreachable() }
            return ReceiptResponse(status: 200, body: Array(answer.utf8))
        }
    }

    private let pauses = Locked<[Duration]>([])

    private func client(
        _ servers: Servers, secret: SharedSecret? = SharedSecret("s3same\"\n"), apps: [String] = ["com.example.shop"]
    ) -> VerifyReceiptClient {
        VerifyReceiptClient(
            policy: VerifyReceiptPolicy(apps: apps.map { StoreApp(bundleID: $0) }), secret: secret, transport: servers,
            sleep: { [pauses] pause in pauses.withLock { $0.append(pause) } })
    }

    private static let accepted = "{\"status\":0,\"receipt\":{\"bundle_id\":\"com.example.shop\",\"in_app\":[]}}"

    @Test("Production is asked, then the sandbox, with the receipt and the shared secret")
    func order() async throws {
        let servers = Servers(["{\"status\":21005}", "{\"status\":21007}", Self.accepted])
        let receipt = try await client(servers).verify("QUJD\r\nREVG ", excludeOldTransactions: true)
        #expect(receipt.environment == .sandbox)
        let requests = servers.requests.withLock { $0 }
        #expect(
            requests.map(\.url) == [
                "https://buy.itunes.apple.com/verifyReceipt", "https://buy.itunes.apple.com/verifyReceipt",
                "https://sandbox.itunes.apple.com/verifyReceipt",
            ])
        let body = #"{"receipt-data":"QUJDREVG","password":"s3same\"\u000a","exclude-old-transactions":true}"#
        #expect(requests.allSatisfy { $0.body == body })
        #expect(pauses.withLock { $0 } == [.seconds(1)])
    }

    @Test("A server that cannot be reached is a retryable refusal after a bounded number of requests")
    func unreachable() async throws {
        let servers = Servers([])
        let found = await refusalCode { try await client(servers).verify("QUJD") }
        #expect(found == .serviceUnavailable)
        #expect(servers.requests.withLock { $0.count } == 4)
        #expect(pauses.withLock { $0 } == [.seconds(1), .seconds(2), .seconds(4)])
    }

    @Test("A receipt that is not Base64 is not sent", arguments: ["", " ", "x", "QUJ", "QUJ=", "Q*JD", "e30.e30.e30"])
    func malformed(text: String) async {
        let servers = Servers([Self.accepted])
        #expect(await refusalCode { try await client(servers).verify(text) } == .malformedReceipt)
        #expect(servers.requests.withLock { $0.isEmpty })
    }

    @Test("A receipt of another accepted app than the expected one is refused")
    func bound() async throws {
        let apps = ["com.example.shop", "com.example.news"]
        let news = client(Servers([Self.accepted]), apps: apps)
        #expect(await refusalCode { try await news.verify("QUJD", of: "com.example.news") } == .wrongBundleID)
        let shop = client(Servers([Self.accepted]), apps: apps)
        #expect(try await shop.verify("QUJD", of: "com.example.shop").bundleID == "com.example.shop")
    }

    @Test("The shared secret is never shown")
    func secret() {
        let secret = SharedSecret("s3same")
        var shown = "\(secret) \(String(reflecting: secret)) \([secret]) "
        dump(secret, to: &shown)
        #expect(!shown.contains("s3same"))
    }
}
