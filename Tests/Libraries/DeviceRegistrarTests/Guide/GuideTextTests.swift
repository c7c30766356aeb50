import Foundation
import Testing

/// The documentation shows only code that is compiled and run: each example occurs word for word in a test of this
/// folder.
@Suite struct GuideTextTests {
    private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    @Test func `Every example of Registrar.md is part of a test`() throws {
        let page = Self.tests.appendingPathComponent("../../../../Documentation/Registrar.md").standardizedFileURL
        let guide = try String(contentsOf: page, encoding: .utf8)
        let source = Self.words(
            try String(contentsOf: Self.tests.appendingPathComponent("RegistrarGuideTests.swift"), encoding: .utf8))
        let examples = guide.components(separatedBy: "```swift\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
        #expect(examples.count == 6)
        for example in examples { #expect(source.contains(Self.words(example)), "not in any test:\n\(example)") }
    }

    /// Returns the text without indentation, because a test is indented more than a page.
    private static func words(_ text: String) -> String {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
            .joined(separator: "\n")
    }
}
