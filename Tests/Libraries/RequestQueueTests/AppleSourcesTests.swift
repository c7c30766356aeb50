import Foundation
import TestSupport
import TestTraits
import Testing

/// The sources for Apple's platforms: compiled on Linux, with declarations in place of what only Apple has.
@Suite(.waits) struct AppleSourcesTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    @Test func `The sources compile without FoundationNetworking`() async throws {
        let directory = try TemporaryDirectory()
        let (module, errors) = try await compile("RequestQueue", into: directory, with: ["Apple/Networking.swift"])
        #expect(module, "\(errors)")
        let (activities, faults) = try await compile(
            "ActivityKit", of: [], into: directory, with: ["Apple/ActivityKit.swift"])
        #expect(activities, "\(faults)")
        // It links nothing, and imports the modules that were compiled before.
        let (registrar, others) = try await compile("DeviceRegistrar", into: directory, with: [])
        #expect(registrar, "\(others)")
        let names = try Data(contentsOf: URL(fileURLWithPath: "\(directory.path)/DeviceRegistrar.swiftmodule"))
        #expect(names.range(of: Data("observeStartTokens".utf8)) != nil, "the sources for ActivityKit are compiled")
    }

    /// Compiles a target from copies in which `canImport(FoundationNetworking)` is false.
    private func compile(
        _ target: String, of folders: [String]? = nil, into directory: TemporaryDirectory, with others: [String]
    ) async throws -> (isCompiled: Bool, errors: String) {
        let sources = Self.root.appendingPathComponent("Sources/Libraries/\(target)")
        let tests = Self.root.appendingPathComponent("Tests/Libraries/RequestQueueTests")
        let paths = folders ?? FileManager.default.enumerator(atPath: sources.path)?.allObjects ?? []
        var files = others.map { tests.appendingPathComponent($0) }
        files += paths.compactMap {
            ($0 as? String).flatMap { $0.hasSuffix(".swift") ? sources.appendingPathComponent($0) : nil }
        }
        var copies: [String] = []
        for file in files {
            let text = try String(contentsOf: file, encoding: .utf8)
                .replacingOccurrences(of: "canImport(FoundationNetworking)", with: "false")
            copies.append(try directory.write(file.lastPathComponent, containing: text))
        }
        let features = ["NonisolatedNonsendingByDefault", "ExistentialAny", "InternalImportsByDefault"]
        let ended = try await ChildProcess.run(
            "swiftc",
            [
                "-emit-module", "-emit-module-path", "\(directory.path)/\(target).swiftmodule", "-module-name", target,
                "-I", directory.path, "-package-name", "carillon", "-swift-version", "6",
            ] + features.flatMap { ["-enable-upcoming-feature", $0] } + copies.sorted())
        return (ended.status == 0, ended.errors)
    }
}
