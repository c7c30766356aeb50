import PushLogic
import PushModel
import PushTime
import PushWire

/// Writing the rows of a group, in the current transaction.
extension SQLiteRows {
    func store(_ rows: LedgerRows) throws(StoreError) {
        try storeMessages(rows)
        try storeCancels(rows)
        for (app, time) in rows.pauses { try store(pausedAt: time, of: app) }
        for (app, id) in rows.receipts {
            statements.addReceipt.bind(1, app.name)
            statements.addReceipt.bind(2, id)
            statements.addReceipt.bind(3, rows.time)
            try statements.addReceipt.run()
        }
        try storeKeys(rows)
        try storeLog(rows)
    }

    private func storeMessages(_ rows: LedgerRows) throws(StoreError) {
        for first in rows.removedMessages {
            statements.removeMessages.bind(1, first)
            try statements.removeMessages.run()
        }
        for seq in rows.removedScheduled {
            statements.removeScheduled.bind(1, seq)
            try statements.removeScheduled.run()
        }
        for row in rows.messages {
            let add = statements.addMessages
            add.bind(1, row.first)
            add.bind(2, Int64(row.count))
            add.bind(3, rows.time)
            add.bind(4, row.apps.map(\.name).joined(separator: "\n"))
            add.bind(5, row.heads)
            add.bind(6, row.bodies)
            add.bind(7, row.sums(at: rows.time))
            try add.run()
        }
        for message in rows.scheduled {
            let add = statements.addScheduled
            add.bind(1, message.seq)
            add.bind(2, message.due)
            add.bind(3, rows.time)
            add.bind(4, message.key.fingerprint)
            add.bind(5, message.key.storedContent)
            add.bind(6, message.key.audience)
            add.bind(7, message.app.name)
            add.bind(8, message.body)
            add.bind(9, Int64(message.sum(at: rows.time)))
            try add.run()
        }
    }

    private func storeCancels(_ rows: LedgerRows) throws(StoreError) {
        for number in rows.removedCancels {
            statements.removeCancel.bind(1, number)
            try statements.removeCancel.run()
        }
        for cancel in rows.changedCancels {
            let set = statements.setCancel
            set.bind(1, cancel.counts.sent)
            set.bind(2, cancel.counts.cancelled)
            set.bind(3, cancel.parts)
            set.bind(4, cancel.number)
            try set.run()
        }
        for cancel in rows.addedCancels {
            let add = statements.addCancel
            add.bind(1, cancel.number)
            add.bind(2, rows.time)
            add.bind(3, cancel.fingerprint)
            add.bind(4, cancel.request.app.name)
            add.bind(5, cancel.request.id.text)
            add.bind(6, cancel.request.client ?? "")
            add.bind(7, cancel.parts)
            try add.run()
        }
    }

    private func store(pausedAt time: WallTime?, of app: AppID) throws(StoreError) {
        if let time {
            statements.setPaused.bind(1, app.name)
            statements.setPaused.bind(2, time)
            try statements.setPaused.run()
        } else {
            statements.removePaused.bind(1, app.name)
            try statements.removePaused.run()
        }
    }

    private func storeKeys(_ rows: LedgerRows) throws(StoreError) {
        if !rows.hasKeys { return }
        let add = statements.addKeys
        add.bind(1, rows.number)
        add.bind(2, rows.time)
        add.bind(3, rows.acceptedKeys)
        add.bind(4, rows.endedKeys)
        add.bind(5, rows.completed)
        try add.run()
    }

    private func storeLog(_ rows: LedgerRows) throws(StoreError) {
        for segment in rows.segments where segment.count > 0 {
            let add = statements.addLog
            add.bind(1, segment.first)
            add.bind(2, Int64(segment.count))
            add.bind(3, segment.time)
            add.bind(4, segment.bytes)
            try add.run()
        }
        for head in rows.heads {
            statements.setHead.bind(1, head.app?.name ?? "")
            statements.setHead.bind(2, Int64(head.kind.rawValue))
            statements.setHead.bind(3, head.seq)
            try statements.setHead.run()
        }
    }
}
