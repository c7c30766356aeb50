import PushTransport
import Receipts
import ServerTestSupport
import TestSupport
import Testing

@testable import PushConfiguration

@Suite struct ConfigurationReceiptsTests {
    private func parse(_ receipts: String, apps: [String] = ["shop"]) throws -> Configuration {
        let all = apps.enumerated().map { index, app in
            """
            \(app): { topic: "com.example.\(app)", environment: "production",
              credential: { certificate: "a.p12" }, receipts: { app_apple_id: \(index + 1) } }
            """
        }
        let text = "{ apps: { \(all.joined(separator: ", ")) }, receipts: { \(receipts) } }"
        return try Configuration.parse(Array(text.utf8), file: "/etc/x/carillon.json5").configuration
    }

    private func fault(_ receipts: String) -> String {
        do {
            _ = try parse(receipts)
            return ""
        } catch {
            return "\(error)"
        }
    }

    @Test func `Without settings, Apple's roots and servers are used, and revocation is checked softly`() throws {
        let configuration = try parse("", apps: ["shop", "news"])
        #expect(configuration.receipts == Configuration.ReceiptRules())
        #expect(configuration.receipts.environments == [.production, .sandbox])
        #expect(configuration.receipts.revocation == .soft)
        #expect(configuration.receipts.verify.production == "https://buy.itunes.apple.com/verifyReceipt")
        #expect(
            configuration.storeApps == [
                StoreApp(bundleID: "com.example.news", appAppleID: 2),
                StoreApp(bundleID: "com.example.shop", appAppleID: 1),
            ])
    }

    @Test func `All settings are read, and paths are relative to the file`() throws {
        let rules = try parse(
            """
            environments: ["sandbox"], revocation: "require", roots: "roots.pem", shared_secret_file: "a.secret",
            verify: { production: "https://127.0.0.1:9000/p", sandbox: "https://127.0.0.1:9000/s", trust: "ca.pem" }
            """
        ).receipts
        #expect(rules.environments == [.sandbox] && rules.revocation == .require)
        #expect(rules.roots == "/etc/x/roots.pem" && rules.sharedSecretFile == "/etc/x/a.secret")
        #expect(rules.verify.production == "https://127.0.0.1:9000/p")
        #expect(rules.verify.sandbox == "https://127.0.0.1:9000/s")
        #expect(rules.verify.trust == .file("/etc/x/ca.pem"))
    }

    @Test func `Wrong values are reported with what to write`() {
        #expect(fault("environments: [\"sandbox\", \"xcode\"]").contains("\"xcode\" is not one of production, sandbox"))
        #expect(fault("environments: []").contains("name at least one of production, sandbox"))
        #expect(fault("revocation: \"hard\"").contains("\"hard\" is not one of require, soft, off"))
        for url in ["http://example.com/", "example.com", "https://", "https://a b/"] {
            #expect(fault("verify: { sandbox: \"\(url)\" }").contains("is not the address of a service"), "\(url)")
        }
    }

    @Test func `The files of receipts are read, and a fault names the setting`() throws {
        let directory = try TemporaryDirectory()
        let signer = StoreSigner.shared
        var rules = Configuration.ReceiptRules()
        rules.roots = try directory.write("roots.pem", containing: signer.root.certificatePEM)
        rules.sharedSecretFile = try directory.write("secret", containing: "s3same\n")
        let apps = [StoreApp(bundleID: "com.example.shop")]
        let services = try ReceiptServices(rules, apps: apps)
        let text = try signer.sign("{\"signedDate\":1}")
        #expect(throws: ReceiptRefusal.self) { try services.verifier.transaction(text) }
        var wrong = rules
        wrong.roots = "\(directory.path)/none.pem"
        let roots = #expect(throws: StartError.self) { try ReceiptServices(wrong, apps: apps) }
        #expect(roots?.description.contains("receipts.roots cannot be used: cannot open") == true)
        wrong = rules
        wrong.roots = try directory.write("leaf.pem", containing: signer.leaf.certificatePEM)
        let leaf = #expect(throws: StartError.self) { try ReceiptServices(wrong, apps: apps) }
        #expect(leaf?.description.contains("not the certificate of an authority") == true)
        wrong = rules
        wrong.sharedSecretFile = "\(directory.path)/none"
        let secret = #expect(throws: StartError.self) { try ReceiptServices(wrong, apps: apps) }
        #expect(secret?.description.contains("receipts.shared_secret_file cannot be used") == true)
        wrong = rules
        wrong.verify.trust = .file("\(directory.path)/none.pem")
        let trust = #expect(throws: StartError.self) { try ReceiptServices(wrong, apps: apps) }
        #expect(trust?.description.contains("receipts.verify.trust cannot be used") == true)
    }
}
