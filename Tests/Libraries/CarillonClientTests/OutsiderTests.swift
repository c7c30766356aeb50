import Glibc
import TestSupport
import TestTraits
import Testing

/// Tests of the examples in Client.md, as a package that depends on the product alone.
@Suite(.long, .startsProgram, .waits) struct OutsiderTests {
    private static let root: String = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")

    /// Returns the Swift files of the page: each block begins with a comment that names its file.
    private static func files(of page: String) -> [(name: String, text: String)] {
        page.split(separator: "\n```").compactMap { block in
            guard block.hasPrefix("swift\n// ") else { return nil }
            let text = block.dropFirst("swift\n".count)
            let name = text.prefix { $0 != "\n" }.dropFirst(3)
            guard name.hasSuffix(".swift") else { return nil }
            return (String(name), String(text) + "\n")
        }
    }

    @Test func `The examples of Client.md build as a package of their own, and push a message`() async throws {
        let page = try await ChildProcess.run("cat", ["\(Self.root)/Documentation/Client.md"]).output
        let files = Self.files(of: page)
        #expect(Set(files.map { $0.name }).isSuperset(of: ["main.swift", "Events.swift", "Spool.swift", "Keys.swift"]))
        let directory = try TemporaryDirectory()
        mkdir("\(directory.path)/Sources", 0o700)
        for (name, text) in files { _ = try directory.write("Sources/\(name)", containing: text) }
        let manifest = try #require(
            page.split(separator: "\n```").first { $0.hasPrefix("swift\n// swift-tools-version") })
        let text = manifest.dropFirst("swift\n".count).split(separator: "../carillon").joined(separator: Self.root)
        _ = try directory.write("Package.swift", containing: text + "\n")
        // The build folder stays beside this one, so that only the first run builds the library.
        let build =
            "\(ChildProcess.carillon.split(separator: "/").dropLast(3).map { "/" + $0 }.joined())/outsider-client"
        let arguments = ["build", "--package-path", directory.path, "--scratch-path", build]
        let built = try await ChildProcess.run("swift", arguments)
        try #require(built.status == 0, "\(built.output.suffix(3_000))\(built.errors.suffix(3_000))")
        let shown = try await ChildProcess.run("swift", arguments + ["--show-bin-path"])
        let program = "\(shown.output.split(separator: "\n").last ?? "")/orders"

        let fake = try await FakeIntake(script: FakeIntake.accepting)
        let ended = try await ChildProcess.run("env", ["CARILLON_ENDPOINTS=\(fake.endpoint)", program])
        #expect(ended.status == 0 && ended.output == "accepted\n", "\(ended.output)\(ended.errors)")
        #expect(fake.requests.events.map { $0.ids } == [["order-4711-shipped"]])
        await fake.stop()
        // A newcomer copies the first example alone.
        for (name, _) in files where name != "main.swift" { unlink("\(directory.path)/Sources/\(name)") }
        let alone = try await ChildProcess.run("swift", arguments)
        #expect(alone.status == 0, "\(alone.output.suffix(3_000))\(alone.errors.suffix(3_000))")
        let linked = try await ChildProcess.run("sh", ["-c", "strings -a \(program) | grep -c PushStore"])
        #expect(linked.output == "0\n", "nothing of the server is linked")
    }
}
