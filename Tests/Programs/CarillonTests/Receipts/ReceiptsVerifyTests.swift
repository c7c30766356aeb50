import JSON5
import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import carillon

/// Tests of `carillon receipts verify` as a process, without a server.
@Suite(.waits) struct ReceiptsVerifyTests {
    private let directory: TemporaryDirectory
    private let signer = StoreSigner.shared
    private static let transaction = """
        {"transactionId":"2000","originalTransactionId":"1000","bundleId":"com.example.shop","productId":"gold",\
        "environment":"Production","signedDate":\(StoreSigner.now())}
        """

    init() throws {
        directory = try TemporaryDirectory()
        _ = try directory.write("roots.pem", containing: signer.root.certificatePEM)
        _ = try directory.write("shared.secret", containing: "s3same-4711\n")
    }

    private func verify(_ arguments: [String], input: String? = nil) async throws -> ChildProcess.Ended {
        if let input { _ = try directory.write("input", containing: input) }
        let words = ["receipts", "verify"] + (input == nil ? [] : ["input"]) + arguments
        let ended = try await ChildProcess.run(ChildProcess.carillon, words, directory: directory.path)
        #expect(!(ended.output + ended.errors).contains("s3same"))
        return ended
    }

    private let offline = ["--bundle-id", "com.example.shop", "--roots", "roots.pem", "--revocation", "off"]

    private func json(_ ended: ChildProcess.Ended) throws -> JSONTree {
        try JSON5Reader.read(Array(ended.output.utf8))
    }

    @Test func `A genuine transaction is accepted without a configuration`() async throws {
        let text = try signer.sign(Self.transaction)
        let ended = try await verify(offline, input: " \(text)\n")
        #expect(ended.status == 0, "\(ended.output)\(ended.errors)")
        #expect(ended.output.hasPrefix("genuine: a transaction, signed by the App Store\n"))
        #expect(ended.output.contains("product      gold"))
        let machine = try await verify(offline + ["--json"], input: text)
        #expect(machine.status == 0)
        let tree = try json(machine)
        #expect(tree["valid"]?.boolean == true && tree["kind"]?.string == "transaction")
        #expect(tree["claims"]?["transactionId"]?.string == "2000")
        #expect(tree["revocation"]?.string == "not_checked")
    }

    @Test func `The body of a notification is accepted with the apps of a configuration`() async throws {
        let notification = """
            {"notificationType":"REFUND","notificationUUID":"u-1","signedDate":\(StoreSigner.now()),"data":{\
            "environment":"Production","appAppleId":42,"bundleId":"com.example.shop",\
            "signedTransactionInfo":"\(try signer.sign(Self.transaction))"}}
            """
        func configure(_ receipts: String) throws {
            _ = try directory.write(
                "carillon.json5",
                containing: """
                    { apps: { shop: { topic: "com.example.shop", environment: "production",
                      credential: { certificate: "a.p12" }, receipts: { \(receipts) } } },
                      receipts: { roots: "roots.pem", revocation: "off" } }
                    """)
        }
        try configure("app_apple_id: 42")
        let body = "{\"signedPayload\":\"\(try signer.sign(notification))\"}"
        let ended = try await verify([], input: body)
        #expect(ended.status == 0, "\(ended.output)\(ended.errors)")
        #expect(ended.output.contains("REFUND") && ended.output.contains("u-1") && ended.output.contains("gold"))
        try configure("app_apple_id: 43")
        let other = try await verify(["--json"], input: body)
        #expect(other.status == 1)
        #expect(try json(other)["code"]?.string == "wrong_app_id")
        try configure("")
        #expect(try await verify([], input: body).status == 78)
    }

    @Test func `Each refusal has a code, a sentence and an exit code`() async throws {
        let text = try signer.sign(Self.transaction)
        let parts = text.split(separator: ".")
        for (input, code, status) in [
            ("\(parts[0]).\(parts[1]).\(try signer.sign("{}").split(separator: ".")[2])", "wrong_signature", 1),
            (try signer.sign(Self.transaction.replacing("example.shop", with: "example.news")), "wrong_bundle_id", 1),
            ("a.b", "wrong_segment_count", 65), ("\(text)=", "padded_base64", 65),
            ("no Base64!", "malformed_receipt", 65),
        ] as [(String, String, Int32)] {
            let ended = try await verify(offline + ["--json"], input: input)
            #expect(ended.status == status, "\(ended.output)")
            let tree = try json(ended)
            #expect(tree["valid"]?.boolean == false && tree["code"]?.string == code)
            #expect(tree["detail"]?.string?.hasSuffix(".") == true)
            #expect(tree["exit_code"]?.integer == Int64(status))
            let people = try await verify(offline, input: input)
            #expect(people.output.hasPrefix("refused: \(code)\n  "))
        }
        // Apple's own root does not vouch for the signer of the tests.
        #expect(
            try await verify(["--bundle-id", "com.example.shop"], input: text).output.contains("untrusted_chain"))
    }

    @Test func `Mistakes on the command line and in files are explained`() async throws {
        for (arguments, status, words) in [
            (["none", "--bundle-id", "a"], 65, "cannot open none"), ([], 64, "FILE is missing"),
            (["roots.pem"], 78, "--bundle-id"), (["x", "--bundle-id", "a", "--config", "b"], 64, "cannot be combined"),
            (["x", "--app-apple-id", "1"], 64, "'--bundle-id'"),
            (["x", "--bundle-id", "a", "--bundle-id", "b", "--app-apple-id", "1"], 64, "one app"),
            (["x", "--bundle-id", "a", "--revocation", "hard"], 64, "require, soft or off"),
            (["x", "--bundle-id", "a", "--roots", "none.pem"], 78, "receipts.roots"),
            (["-", "--bundle-id", "a"], 65, "the input is empty"),
        ] as [([String], Int32, String)] {
            let ended = try await verify(arguments)
            #expect(ended.status == status && ended.errors.contains(words), "\(arguments): \(ended.errors)")
        }
        let json = try await verify(["--bundle-id", "a"], input: "{\"notification_type\":\"CANCEL\"}")
        #expect(json.status == 65 && json.errors.contains("version 1"), "\(json.errors)")
    }

    @Test func `The check of a configuration examines the files of receipts`() async throws {
        _ = try directory.write(
            "carillon.json5",
            containing: """
                { apps: { shop: { topic: "com.example.shop", environment: "production",
                  credential: { certificate: "a.p12" } } }, receipts: { roots: "none.pem" } }
                """)
        let ended = try await ChildProcess.run(ChildProcess.carillon, ["check"], directory: directory.path)
        #expect(ended.status == 78)
        #expect((ended.output + ended.errors).contains("receipts.roots cannot be used"), "\(ended.output)")
    }

    @Test func `An old receipt goes to Apple's server, and then to the sandbox`() async throws {
        let requests = Locked<[String]>([])
        let answer: ReceiptServer.Answer = { path, body in
            requests.withLock { $0.append("\(path) \(body)") }
            if path == "/p" { return "{\"status\":21007}" }
            return """
                {"status":0,"environment":"Sandbox","receipt":{"bundle_id":"com.example.shop","in_app":[\
                {"transaction_id":"7","product_id":"gold"}]}}
                """
        }
        try await ReceiptServer.run(answering: answer) { port in
            func configure(_ environments: String) throws {
                _ = try directory.write("ca.pem", containing: TestCertificates.shared.authority.certificatePEM)
                _ = try directory.write(
                    "carillon.json5",
                    containing: """
                        { apps: { shop: { topic: "com.example.shop", environment: "production",
                          credential: { certificate: "a.p12" } } },
                          receipts: { shared_secret_file: "shared.secret", environments: \(environments), verify: {
                            production: "https://localhost:\(port)/p", sandbox: "https://localhost:\(port)/s",
                            trust: "ca.pem" } } }
                        """)
            }
            try configure("[\"production\", \"sandbox\"]")
            let ended = try await verify([], input: "QUJD\nREVG\n")
            #expect(ended.status == 0, "\(ended.output)\(ended.errors)")
            #expect(ended.output.contains("genuine: a receipt, verified by Apple's server"))
            #expect(ended.output.contains("Sandbox") && ended.output.contains("7 gold"))
            #expect(
                requests.withLock { $0 } == [
                    #"/p {"receipt-data":"QUJDREVG","password":"s3same-4711"}"#,
                    #"/s {"receipt-data":"QUJDREVG","password":"s3same-4711"}"#,
                ])
            try configure("[\"production\"]")
            let refused = try await verify(["--json"], input: "QUJD")
            #expect(refused.status == 1 && refused.output.contains("wrong_environment"), "\(refused.output)")
        }
    }
}

/// A server over TLS that answers as Apple's `verifyReceipt`.
private enum ReceiptServer {
    /// Returns the answer to a path and a body.
    typealias Answer = @Sendable (String, String) -> String

    /// Listens until `body` has ended, also by an error.
    static func run(answering answer: @escaping Answer, _ body: (_ port: UInt16) async throws -> Void) async throws {
        let loop = EventLoop(name: "apple")
        // A server need not know ALPN, and Apple's may not.
        let context = try TestCertificates.shared.serverContext()
        let server = await loop.run {
            LoopBound(
                HTTP1Server(on: loop, tls: context) { request, responder in
                    let body = answer(request.target, String(decoding: request.body, as: UTF8.self))
                    try? responder.respond(status: 200, headers: [:], body: Array(body.utf8))
                }, on: loop)
        }
        let result: Result<Void, any Error>
        do {
            let port = try await loop.run { () throws(HTTP1Error) in
                try server.wrapped.listen(host: "127.0.0.1", port: 0)
            }
            result = .success(try await body(port))
        } catch {
            result = .failure(error)
        }
        await withCheckedContinuation { continuation in
            loop.execute { server.wrapped.close { continuation.resume() } }
        }
        await loop.shutDown()
        try result.get()
    }
}
