import Receipts
import TestSupport

enum ReceiptsBenchmark {
    /// Measures the verification of signed data from the App Store.
    static func run(_ arguments: [String]) async throws -> [Figure] {
        let count = arguments.first.flatMap { Int($0) } ?? 20_000
        let signer = StoreSigner.shared
        let now = StoreSigner.now()
        let payload = """
            {"transactionId":"2000000123456789","originalTransactionId":"2000000100000000",\
            "bundleId":"com.example.shop","productId":"com.example.shop.gold","purchaseDate":1698148900000,\
            "expiresDate":1700740900000,"quantity":1,"type":"Auto-Renewable Subscription",\
            "inAppOwnershipType":"PURCHASED","signedDate":\(now),"environment":"Production",\
            "transactionReason":"PURCHASE","storefront":"USA","storefrontId":"143441","price":9990,"currency":"USD"}
            """
        let text = try signer.sign(payload)
        let forged = String(text.dropLast(4)) + "AAAA"
        let roots = try TrustedRoots(der: [signer.root.certificate.der])
        let apps = [StoreApp(bundleID: "com.example.shop")]
        let verifier = SignedDataVerifier(apps: apps, roots: roots)
        var accepted = 0

        func measured(_ name: String, times: Int, work: () throws -> Void) rethrows -> Figure {
            let before = processCPU()
            for _ in 0..<times { try work() }
            return Figure(name: name, value: 1e6 / microseconds(since: before, for: times), unit: "/s")
        }
        let warm = try measured("transactions of a known chain", times: count) {
            _ = try verifier.transaction(text)
            accepted += 1
        }
        let cold = try measured("transactions of a new chain", times: count / 10) {
            _ = try SignedDataVerifier(apps: apps, roots: roots).transaction(text)
            accepted += 1
        }
        let refused = measured("transactions with a wrong signature", times: count) {
            if (try? verifier.transaction(forged)) == nil { accepted += 1 }
        }
        guard accepted == 2 * count + count / 10 else { throw WrongResult() }
        return [warm, cold, refused]
    }

    private struct WrongResult: Error {}
}
