import Glibc
import PushTransport
import TestSupport
import TestTraits
import Testing

/// Tests of the examples in Receipts.md, as a package that depends on the products alone.
@Suite(.long, .startsProgram, .waits) struct OutsiderTests {
    private static let root: String = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")

    private static var manifest: String {
        """
        // swift-tools-version: 6.2
        import PackageDescription

        let package = Package(
            name: "outsider",
            dependencies: [.package(name: "carillon", path: "\(root)")],
            targets: [
                .executableTarget(
                    name: "outsider",
                    dependencies: [
                        .product(name: "Receipts", package: "carillon"),
                        .product(name: "ReceiptsNetwork", package: "carillon"),
                    ], path: "Sources")
            ])

        """
    }

    /// Returns the examples of the page in their order, without the lines of the manifest and the imports.
    private static func examples(of page: String) -> [String] {
        page.split(separator: "\n```").compactMap { block in
            guard block.hasPrefix("swift\n"), !block.hasPrefix("swift\n.product") else { return nil }
            let lines = block.split(separator: "\n", omittingEmptySubsequences: false).dropFirst()
            return lines.filter { !$0.hasPrefix("import ") }.joined(separator: "\n")
        }
    }

    /// Returns a program that has each example word for word in a function.
    private static func program(_ examples: [String]) -> String {
        """
        import Foundation
        import Receipts
        import ReceiptsNetwork

        func transaction(_ text: String) -> String {
        \(examples[0])
        }

        func notification(_ body: [UInt8], _ verifier: SignedDataVerifier) throws {
            func take(_ product: String?, from token: String?) { print("took", product ?? "", token ?? "from nobody") }
        \(examples[1])
        }

        func revocation(_ text: String, _ verifier: SignedDataVerifier) async throws {
        \(examples[2])
            print(checked.content.productID ?? "", checked.revocation)
        }

        func classic(_ base64: String, secret: String) async throws {
        \(examples[3])
            print(receipt)
        }

        func old(_ file: [UInt8]) throws {
        \(examples[4])
            print(id ?? "no transaction")
        }

        func read(_ name: String) throws -> [UInt8] {
            try Array(Data(contentsOf: URL(fileURLWithPath: CommandLine.arguments[1] + "/" + name)))
        }
        let text = String(decoding: try read("transaction"), as: UTF8.self)
        print(transaction(text).prefix { $0 != ":" })
        let verifier = SignedDataVerifier(
            apps: [StoreApp(bundleID: "com.example.shop", appAppleID: 1_234_567_890)],
            roots: try TrustedRoots(der: [try read("root")]))
        print("genuine", try verifier.transaction(text).content.productID ?? "")
        try notification(try read("notification"), verifier)
        try await revocation(text, verifier)
        try old(try read("receipt"))
        if CommandLine.arguments.count > 2 { try await classic("", secret: "") }

        """
    }

    /// An old receipt in DER whose only purchase has the transaction 9.
    private static let receipt: [UInt8] = {
        func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag, UInt8(content.count)] + content }
        let number = element(0x30, [2, 2, 0x06, 0xa7, 2, 1, 1] + element(4, element(0x0c, Array("9".utf8))))
        let purchase = element(0x30, [2, 1, 17, 2, 1, 1] + element(4, element(0x31, number)))
        func oid(_ last: UInt8) -> [UInt8] { element(0x06, [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, last]) }
        let content = element(0x30, oid(1) + element(0xa0, element(4, element(0x31, purchase))))
        return element(0x30, oid(2) + element(0xa0, element(0x30, [2, 1, 1, 0x31, 0] + content + [0x31, 0])))
    }()

    @Test func `The examples of Receipts.md build as a package of their own, and verify`() async throws {
        let page = String(
            decoding: try BoundedFile.read("\(Self.root)/Documentation/Receipts.md", limit: 1 << 20), as: UTF8.self)
        let examples = Self.examples(of: page)
        try #require(examples.count == 5)
        let directory = try TemporaryDirectory()
        mkdir("\(directory.path)/Sources", 0o700)
        _ = try directory.write("Package.swift", containing: Self.manifest)
        _ = try directory.write("Sources/main.swift", containing: Self.program(examples))
        // The build folder stays beside this one, so that only the first run builds the libraries.
        let build =
            "\(ChildProcess.carillon.split(separator: "/").dropLast(3).map { "/" + $0 }.joined())/outsider-receipts"
        let arguments = ["build", "--package-path", directory.path, "--scratch-path", build]
        let built = try await ChildProcess.run("swift", arguments)
        try #require(built.status == 0, "\(built.output.suffix(3_000))\(built.errors.suffix(3_000))")
        let shown = try await ChildProcess.run("swift", arguments + ["--show-bin-path"])
        let program = "\(shown.output.split(separator: "\n").last ?? "")/outsider"

        let vectors = StoreVectors()
        _ = try directory.write("transaction", containing: vectors.signer.sign(vectors.transaction()))
        let signed = try vectors.signer.sign(vectors.notification(try vectors.nestedData(), type: "REFUND"))
        _ = try directory.write("notification", containing: "{\"signedPayload\":\"\(signed)\"}")
        _ = try directory.write("root", bytes: vectors.signer.root.certificate.der)
        _ = try directory.write("receipt", bytes: Self.receipt)
        let ended = try await ChildProcess.run(program, [directory.path])
        let wanted = """
            untrusted_chain
            genuine com.example.shop.gold
            took com.example.shop.gold from nobody
            com.example.shop.gold
            9

            """
        let lines = ended.output.split(separator: "\n", omittingEmptySubsequences: false)
        let shortened = lines.map { $0.hasPrefix("com.example.shop.gold ") ? "com.example.shop.gold" : $0 }
        #expect(shortened.joined(separator: "\n") == wanted, "\(ended.output)\(ended.errors)")
        let libraries = try await ChildProcess.run("readelf", ["-d", program]).output
        for library in ["zmq", "sqlite", "event", "simdjson", "nghttp2"] {
            #expect(!libraries.contains("lib\(library)"), "\(library)")
        }
    }
}
