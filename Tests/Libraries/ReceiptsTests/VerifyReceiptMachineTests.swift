import Testing

@testable import Receipts

@Suite struct VerifyReceiptMachineTests {
    private static let app = StoreApp(bundleID: "com.example.shop")

    private func machine(
        environments: Set<StoreEnvironment> = [.production, .sandbox], maxRetries: Int = 3
    ) -> VerifyReceiptMachine {
        var policy = VerifyReceiptPolicy(apps: [Self.app], environments: environments)
        policy.maxRetries = maxRetries
        return VerifyReceiptMachine(policy)
    }

    private func answer(_ status: Int64, more: String = "") -> ReceiptResponse {
        ReceiptResponse(status: 200, body: Array("{\"status\":\(status)\(more)}".utf8))
    }

    private func accepted(
        bundleID: String = "com.example.shop", environment: String = "Production"
    ) -> ReceiptResponse {
        answer(
            0,
            more: """
                ,"environment":"\(environment)","receipt":{"bundle_id":"\(bundleID)","application_version":"3",\
                "receipt_creation_date_ms":"1698148900000","in_app":[{"transaction_id":"1"}]},\
                "latest_receipt":"AAAA","latest_receipt_info":[{"transaction_id":"1","product_id":"gold",\
                "original_transaction_id":"1","purchase_date_ms":"1698148900001"},\
                {"transaction_id":"2","product_id":"gold",\
                "expires_date_ms":"1700740900000","cancellation_date_ms":"1700740900001"}]
                """)
    }

    private func code(_ action: VerifyReceiptMachine.Action) -> ReceiptRefusal.Code? {
        if case .refuse(let refusal) = action { refusal.code } else { nil }
    }

    private func receipt(_ action: VerifyReceiptMachine.Action) throws -> ClassicReceipt {
        guard case .accept(let receipt) = action else { throw TestFailure() }
        return receipt
    }

    @Test("A receipt of production is accepted with its transactions, each once")
    func production() throws {
        var machine = machine()
        #expect(machine.start() == .send(.production, after: .zero))
        let receipt = try receipt(machine.received(accepted()))
        #expect(receipt.environment == .production)
        #expect(receipt.version == "3")
        #expect(receipt.createdAt?.milliseconds == 1_698_148_900_000)
        #expect(receipt.transactions.map(\.transactionID) == ["1", "2"])
        #expect(receipt.transactions[0].purchasedAt?.milliseconds == 1_698_148_900_001)
        #expect(receipt.transactions[1].expiresAt?.milliseconds == 1_700_740_900_000)
        #expect(receipt.transactions[1].cancelledAt?.milliseconds == 1_700_740_900_001)
        #expect(receipt.latestReceipt == "AAAA")
    }

    @Test("The latest description of a transaction counts, with a refund and with one that was reversed")
    func refunded() throws {
        let body = """
            {"status":0,"environment":"Production","receipt":{"bundle_id":"com.example.shop","in_app":[\
            {"transaction_id":"7","product_id":"gold","purchase_date_ms":"1","expires_date_ms":"2"},\
            {"transaction_id":"6","cancellation_date_ms":"5"},{"transaction_id":"5","cancellation_date_ms":"5"}]},\
            "latest_receipt_info":[{"transaction_id":"7","expires_date_ms":"3","cancellation_date_ms":"4"},\
            {"transaction_id":"5","purchase_date_ms":"1"}]}
            """
        var machine = machine()
        _ = machine.start()
        let receipt = try receipt(machine.received(ReceiptResponse(status: 200, body: Array(body.utf8))))
        #expect(receipt.transactions.map(\.transactionID) == ["7", "5", "6"])
        #expect(receipt.transactions.map(\.cancelledAt?.milliseconds) == [4, nil, 5])
        #expect(receipt.transactions.map(\.expiresAt?.milliseconds) == [3, nil, nil])
    }

    @Test("A receipt of the sandbox is sent there after production, once")
    func sandbox() throws {
        var machine = machine()
        _ = machine.start()
        #expect(machine.received(answer(21007)) == .send(.sandbox, after: .zero))
        #expect(try receipt(machine.received(accepted(environment: "Sandbox"))).environment == .sandbox)
    }

    @Test("Servers that refer to each other end the verification")
    func ring() {
        var machine = machine()
        _ = machine.start()
        #expect(machine.received(answer(21007)) == .send(.sandbox, after: .zero))
        #expect(code(machine.received(answer(21008))) == .malformedResponse)
        var strange = self.machine()
        _ = strange.start()
        #expect(code(strange.received(answer(21008))) == .malformedResponse)
    }

    @Test("An environment that is not accepted is not asked")
    func environments() {
        var machine = machine(environments: [.production])
        _ = machine.start()
        #expect(code(machine.received(answer(21007))) == .wrongEnvironment)
        var sandbox = self.machine(environments: [.sandbox])
        #expect(sandbox.start() == .send(.sandbox, after: .zero))
        #expect(code(sandbox.received(answer(21008))) == .wrongEnvironment)
        #expect(code(self.machine(environments: []).start()) == .wrongEnvironment)
        #expect(code(self.machine(environments: [.xcode]).start()) == .wrongEnvironment)
    }

    @Test(
        "Each status has its code",
        arguments: [
            (21000, .serviceRefused), (21001, .serviceRefused), (21003, .receiptNotAuthentic),
            (21004, .wrongSharedSecret), (21006, .subscriptionExpired), (21010, .accountNotFound),
            (21100, .serviceRefused), (21199, .serviceRefused), (4711, .serviceRefused), (-1, .serviceRefused),
        ] as [(Int64, ReceiptRefusal.Code)])
    func statuses(status: Int64, expected: ReceiptRefusal.Code) {
        var machine = machine()
        _ = machine.start()
        #expect(code(machine.received(answer(status))) == expected)
    }

    @Test(
        "Temporary statuses are retried with growing pauses, and then have their code",
        arguments: [
            (21002, "", .malformedReceipt), (21005, "", .serviceUnavailable), (21009, "", .serviceUnavailable),
            (21100, ",\"is-retryable\":true", .serviceUnavailable), (21150, ",\"is_retryable\":1", .serviceUnavailable),
            (21199, ",\"is_retryable\":\"1\"", .serviceUnavailable),
            (99999, ",\"is-retryable\":\"true\"", .serviceUnavailable),
        ] as [(Int64, String, ReceiptRefusal.Code)])
    func retries(status: Int64, more: String, expected: ReceiptRefusal.Code) {
        var machine = machine(maxRetries: 3)
        _ = machine.start()
        for pause in [1, 2, 4] {
            #expect(machine.received(answer(status, more: more)) == .send(.production, after: .seconds(pause)))
        }
        #expect(code(machine.received(answer(status, more: more))) == expected)
    }

    @Test("Failures of the network and of HTTP are retried; other statuses of HTTP are not")
    func network() throws {
        var machine = machine(maxRetries: 4)
        _ = machine.start()
        #expect(machine.failed("lost") == .send(.production, after: .seconds(1)))
        for (status, pause) in [(503, 2), (429, 4), (408, 8)] {
            #expect(
                machine.received(ReceiptResponse(status: status, body: []))
                    == .send(.production, after: .seconds(pause)))
        }
        #expect(code(machine.failed("lost")) == .serviceUnavailable)
        for status in [301, 400, 404] {
            var machine = self.machine()
            _ = machine.start()
            #expect(code(machine.received(ReceiptResponse(status: status, body: []))) == .serviceRefused)
        }
    }

    @Test("Pauses stay bounded, whatever the number of repetitions")
    func pauses() {
        var machine = machine(maxRetries: 100)
        _ = machine.start()
        var last = Duration.zero
        for _ in 0..<100 {
            guard case .send(.production, after: let pause) = machine.failed("lost") else { return }
            last = pause
        }
        #expect(last == .seconds(30))
        #expect(code(machine.failed("lost")) == .serviceUnavailable)
    }

    @Test("A retry after a change of the environment asks the same environment")
    func retryOfSandbox() {
        var machine = machine()
        _ = machine.start()
        _ = machine.received(answer(21007))
        #expect(machine.received(answer(21005)) == .send(.sandbox, after: .seconds(1)))
        #expect(code(machine.received(answer(21007))) == .malformedResponse)
    }

    @Test("A receipt of another app or environment is refused, although Apple accepts it")
    func bound() {
        for (response, expected) in [
            (accepted(bundleID: "com.example.other"), ReceiptRefusal.Code.wrongBundleID),
            (accepted(environment: "Sandbox"), .mismatchedContent),
            (answer(0), .malformedResponse), (answer(0, more: ",\"receipt\":{}"), .malformedResponse),
            (ReceiptResponse(status: 200, body: Array("{}".utf8)), .malformedResponse),
            (ReceiptResponse(status: 200, body: Array("<html>".utf8)), .malformedResponse),
            (answer(21007, more: ",\"status\":0"), .duplicateKey),
        ] {
            var machine = machine()
            _ = machine.start()
            #expect(code(machine.received(response)) == expected)
        }
    }

    @Test("A receipt in the style of iOS 6 is accepted")
    func iOS6() throws {
        let body = """
            {"status":0,"receipt":{"bid":"com.example.shop","bvrs":"1.2","product_id":"gold","transaction_id":1000,\
            "original_transaction_id":"1000","purchase_date_ms":"5","expires_date":"1700740900000"},\
            "latest_receipt_info":{"transaction_id":"1001"}}
            """
        var machine = machine()
        _ = machine.start()
        let receipt = try receipt(machine.received(ReceiptResponse(status: 200, body: Array(body.utf8))))
        #expect(receipt.version == "1.2")
        #expect(receipt.transactions.map(\.transactionID) == ["1001", "1000"])
        #expect(receipt.transactions[1].expiresAt?.milliseconds == 1_700_740_900_000)
    }
}
